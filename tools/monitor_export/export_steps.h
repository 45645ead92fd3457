// Which steps are exported.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/number_ranges.h"
#include "sim/live/step_result.h"
#include "tools/monitor_export/monitor_export.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

struct StepSelection {
  std::vector<NumberRange> steps;  // empty: all
  std::optional<std::int32_t> run;
  double from_s = -std::numeric_limits<double>::infinity();
  double to_s = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool has(const StepTotals& totals) const;
};

// A job and those of its steps that are exported, ascending.
struct ExportedJob {
  JobInfo info;
  std::vector<StepTotals> steps;
};

// Seconds since 1970, or 2026-11-24, 2026-11-24T13:30, 2026-11-24T13:30:00Z: UTC.
Result<double> parse_time(std::string_view text);

Result<StepSelection> select_steps(const MonitorExportOptions& options);

// All jobs or the one that is named; fails where there is nothing to export.
Result<std::vector<ExportedJob>> exported_jobs(MonitorStore& store, const MonitorExportOptions& options);

// When a step was, as far as it is known: its first op, else when it was known.
[[nodiscard]] double time_of(const StepTotals& totals);

}  // namespace goodput
