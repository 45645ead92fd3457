// The points that move rows of activations: scatter, combine, their gradients, regroup and back.
#pragma once

#include <vector>

#include "gpu/bench/point.h"
#include "gpu/bench/sizes.h"
#include "gpu/row_copy.h"

namespace goodput::gpu::bench {

// In bf16, for a rank of 8 with 64 experts in 128 slots. Regroup includes the kernel that makes its map.
[[nodiscard]] std::vector<Point> row_points(Sizes sizes, const CopyDevice& device);

}  // namespace goodput::gpu::bench
