// The stages of the token dispatcher on the path that it takes by itself: `schedule` (K2), `permute` (K0, K1,
// K3, K4), `regroup` with its map, `combine`, and the way back of each.
#pragma once

#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

// "dispatch". Every pair of numbers of tokens and of values a token, of tokens and of experts a token, and of
// values and of experts, but not all three together.
[[nodiscard]] Sweep dispatch_sweep(Sizes sizes);

}  // namespace goodput::gpu::calibrate
