// The points without rows: schedule (K2), count and rank (K0, K1), positions (K3). What they are asked for is
// a short time, not bandwidth; their data has just been written in a real layer, so it is in the L2 cache
// here too.
#pragma once

#include <vector>

#include "gpu/bench/point.h"
#include "gpu/bench/sizes.h"

namespace goodput::gpu::bench {

[[nodiscard]] std::vector<Point> count_points(Sizes sizes);

}  // namespace goodput::gpu::bench
