// A mixture-of-experts block of one rank, the busiest one: router, dispatch, the experts' products, combine,
// forward and backward.
#pragma once

#include "gpu/calibrate/block.h"
#include "gpu/calibrate/moe_shape.h"

namespace goodput::gpu::calibrate {

// FLOPs of the rank's products, gradients included.
[[nodiscard]] double moe_flops(const MoeShape& shape);

// Parts: router, those of gpu/calibrate/token_path.h, and experts_up, activation, experts_down between them;
//   backward: experts_down_dgrad, experts_down_wgrad, activation, experts_up_dgrad, experts_up_wgrad between
//   them, and router_dgrad, router_wgrad last.
// The choice of experts by the router's result has no public kernel: the routing is given. Counts of other
// ranks are given too, so that nothing is gathered, and the host does not wait for how many rows there are.
// The activation is copies that read and write as many bytes together: of R rows 6 R f forward (SwiGLU) or
// 4 R f (others), 10 R f or 6 R f backward. Throws MatmulError and CudaError.
[[nodiscard]] Block make_moe_block(const MoeShape& shape, const Stream& stream);

}  // namespace goodput::gpu::calibrate
