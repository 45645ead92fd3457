// The largest matrix products once more, back to back for so long that the GPU comes to the clock that its
// power and its cooling allow: op "gemm", param sustained.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "gpu/calibrate/point_measurer.h"
#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

// W of the device at this moment, where that is known.
using PowerReader = std::function<std::optional<double>()>;

struct SustainedRule {
  double seconds = 3;          // of device time
  double counted_seconds = 1;  // the last of them; a batch counts that begins in there
  double batch_ms = 20;        // a sample: as many runs as take about so long, at least one
};

struct SustainedTimes {
  std::vector<double> us;         // of one run, a batch each
  std::optional<double> power_w;  // the mean over what counts
};

// Runs `queue` without a gap, for the rule's time or until a batch counts. The stream is empty on return.
// Throws DeadlinePassed, CudaError and what `queue` throws.
[[nodiscard]] SustainedTimes run_sustained(const std::function<void()>& queue, const SustainedRule& rule,
                                           const PowerReader& power_w, const PointMeasurer& measurer);

// `power_w` may be empty.
[[nodiscard]] Sweep sustained_sweep(Sizes sizes, const PowerReader& power_w);

}  // namespace goodput::gpu::calibrate
