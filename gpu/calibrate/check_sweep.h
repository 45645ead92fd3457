// Whole blocks of training steps, to hold predictions against (docs/calibrate.md, "Checks").
#pragma once

#include "gpu/calibrate/sustained_sweep.h"
#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

// "checks": blocks of a mixture of experts and dense layers, cold; padded against flexible dispatch.
[[nodiscard]] Sweep check_sweep(Sizes sizes);
// "checks_sustained": the blocks for 10 s each, without pause, in one round. `power_w` may be empty.
[[nodiscard]] Sweep sustained_check_sweep(Sizes sizes, const PowerReader& power_w);

}  // namespace goodput::gpu::calibrate
