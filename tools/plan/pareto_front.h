// What there is to choose between cost and time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/base/errors.h"
#include "tools/plan/contenders.h"

namespace goodput {

using RunTrials = std::function<Status(std::span<const std::size_t>, std::int64_t)>;

// Contenders that always finish, of which none costs less in the mean and is done sooner: cheapest first.
// What gains less than half a percent of time is left out. Runs those on the front until they have so many
// trials.
Result<std::vector<std::size_t>> pareto_front(const Contenders& contenders, std::int64_t trials,
                                              const RunTrials& run);

}  // namespace goodput
