// Copies within the device (`copy`) and between host and device (`d2h`, `h2d`), alone and beside a product
// that runs all the time, and what the copies cost that product. The price of a checkpoint's snapshot.
#pragma once

#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

// "copy"
[[nodiscard]] Sweep copy_sweep(Sizes sizes);
// "host_copy". Its host memory, 8 GiB, is allocated once, and given back when the sweep is done.
[[nodiscard]] Sweep host_copy_sweep(Sizes sizes);

}  // namespace goodput::gpu::calibrate
