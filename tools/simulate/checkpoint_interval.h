// Which checkpoints a policy came to: how often, from what, and of what size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/json_fwd.h"
#include "sim/base/units.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {

// When training first begins, in the first trial.
struct CheckpointInterval {
  std::string rule{};                  // as the policy's options have it
  std::optional<double> mtbf_hours{};  // that the rule went by; none: it needs none
  bool is_of_failures = false;         // nobody gave it: it follows from the failure models
  std::int32_t nodes = 0;
  std::int64_t steps = 0;  // 0: no checkpoints
  Bytes bytes{};           // of a whole checkpoint
  std::int32_t bytes_per_parameter = 0;
};

// None of a policy that never trained, or that does not write checkpoints.
[[nodiscard]] std::optional<CheckpointInterval> checkpoint_interval(const SimulateReport& report,
                                                                    std::size_t policy);
[[nodiscard]] OrderedJson checkpoint_interval_json(const std::optional<CheckpointInterval>& of);

// A line for each policy whose interval follows from the failures of the scenario.
[[nodiscard]] std::string checkpoint_intervals_text(const SimulateReport& report);
// A line for each size, with the policies whose checkpoints have it.
[[nodiscard]] std::string checkpoint_sizes_text(const SimulateReport& report);

}  // namespace goodput
