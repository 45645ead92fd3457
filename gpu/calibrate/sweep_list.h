// All that can be measured, in the order in which it is: what matters most first, so that a short run has it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/calibrate/sweep.h"
#include "gpu/row_copy.h"

namespace goodput::gpu::calibrate {

struct SweepRequest {
  Sizes sizes = Sizes::kFull;
  // Which kernels can run; by default those of an H200, to be listed.
  CopyDevice device{132, true};
  std::function<std::optional<double>()> power_w;  // may be empty
};

// Of one GPU.
[[nodiscard]] std::vector<Sweep> all_sweeps(const SweepRequest& request);

// Points whose 'SWEEP POINT' has it; sweeps without one are left out.
[[nodiscard]] std::vector<Sweep> only_with(const std::string& substring, std::vector<Sweep> sweeps);

// Seconds of all rounds, with the warm-up of sweeps, sentinels, and a third round of one point in twenty.
[[nodiscard]] double estimate_s(const std::vector<Sweep>& sweeps, int rounds);

// A line a table, and the sum.
[[nodiscard]] std::string list_text(const std::vector<Sweep>& sweeps, int rounds);

}  // namespace goodput::gpu::calibrate
