// What the nodes of a pool cost in a trial: a price, or the prices of a recording from where its replay
// starts.
#pragma once

#include <optional>
#include <span>

#include "models/failure/failure_models.h"
#include "models/scenario/pools.h"
#include "sim/nodes/price_schedule.h"

namespace goodput {

// Of the pool's failure models: the first whose recording has prices. None where the pool has a price of its
// own.
[[nodiscard]] std::optional<std::size_t> price_recording(const PoolView& pool,
                                                         std::span<const FailureSource> sources);

// The prices of a recording from `start` on, which is time 0.
[[nodiscard]] PriceSchedule recorded_prices(const SpotTrace& trace, SimDuration start);

}  // namespace goodput
