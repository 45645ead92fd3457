// RMS norm and layer norm by kernels of our own: op "norm", params kind, hidden, dtype and, for the pass that
// makes gradients, backward; size tokens.
#pragma once

#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

[[nodiscard]] Sweep norm_sweep(Sizes sizes);

}  // namespace goodput::gpu::calibrate
