// The first half of a calibration: what one GPU takes.
#pragma once

#include "gpu/calibrate/calibration_stage.h"

namespace goodput::gpu::calibrate {

// On the first device. Without one it says so, and is skipped. Throws std::invalid_argument and
// std::runtime_error with one line.
[[nodiscard]] StageEnd measure_one_gpu(const StageRequest& request);

}  // namespace goodput::gpu::calibrate
