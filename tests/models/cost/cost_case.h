// What the tests of prices share: the shipped H200 cluster and its calibration, calls and kernels to price.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/cost/calibrated.h"
#include "models/plan/training_plan.h"

namespace goodput::testing {

inline ClusterConfig h200() {
  return read_cluster(GOODPUT_CONFIGS "/clusters/dgx-h200.json").value();
}
inline const Calibration& shipped_calibration() {
  static const Calibration calibration =
      read_calibration(GOODPUT_CONFIGS "/calibration/h200-public.json").value();
  return calibration;
}

// Among `size` GPUs, `per_node` of them on a node.
inline CollectiveCall call_of(Collective kind, double bytes, std::int32_t size, std::int32_t per_node = 8) {
  return {kind, bytes, {size, std::min(size, per_node)}, 1};
}

// C = A x B in bf16, everything moved once.
inline Kernel gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  Kernel kernel{.kind = Kernel::Kind::kGemm, .m = m, .n = n, .k = k};
  kernel.bytes = 2.0 * static_cast<double>(m * k + k * n + m * n);
  return kernel;
}

}  // namespace goodput::testing
