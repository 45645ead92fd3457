// What is measured again and again to see that the machine is still the same: a copy of 256 MiB and a
// product.
#pragma once

#include <vector>

#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

[[nodiscard]] std::vector<SweepPoint> sentinels(Sizes sizes);

}  // namespace goodput::gpu::calibrate
