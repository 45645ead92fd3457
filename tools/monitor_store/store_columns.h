// Columns that several statements share, in the order in which they are read.
#pragma once

#include <cstdint>
#include <string>

#include "sim/live/step_result.h"
#include "tools/monitor_store/store_connection.h"

namespace goodput {

// Of `steps`, as read_totals() takes them from column 0 on.
inline constexpr const char* kTotalsColumns =
    "run, step, slowdown, status, began_s, received_s, finished_s, ops, recorded_s, replayed_s, ideal_s, "
    "launch_slowdown, discrepancy, worst_slowdown, worst_worker, shape, cause, gain";
inline constexpr int kTotalsCount = 18;
[[nodiscard]] StepTotals read_totals(const StoreStatement& row);

// The id of a job; nothing: no such job.
Result<std::optional<std::int64_t>> find_job(StoreConnection& connection, std::string_view name);

}  // namespace goodput
