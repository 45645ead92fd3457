// The kernels that ceilings are measured with.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/bench/traffic.h"
#include "gpu/row_copy.h"

namespace goodput::gpu::bench {

// Words of 16 bytes: word i of all places read, combined by exclusive or, goes to word i of all places
// written. Every place has `words` of them and begins `stride` words behind the one before.
struct CopyWork {
  const uint4* from;
  uint4* to;
  std::int64_t words;
  std::int64_t stride;
  CopyFlow flow;
};

struct CopyKernel {
  std::string name;
  std::function<void(cudaStream_t)> run;
};

// REQUIRES: the flow is 1 : 1, 1 : 8 or 8 : 1, and `words` a multiple of 512.
[[nodiscard]] std::vector<CopyKernel> copy_kernels(const CopyWork& work, const CopyDevice& device);

}  // namespace goodput::gpu::bench
