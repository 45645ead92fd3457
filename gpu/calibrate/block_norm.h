// An RMS norm of a block, forward and backward, on the block's memory.
#pragma once

#include <cstdint>

#include "gpu/calibrate/norm_kernels.h"
#include "gpu/device_memory.h"

namespace goodput::gpu::calibrate {

struct NormRows {  // tokens x hidden
  Bf16* x;
  Bf16* y;
  Bf16* dy;
  Bf16* dx;
};

class BlockNorm {
 public:
  BlockNorm(std::int64_t tokens, std::int64_t hidden, const NormRows& rows);

  void fill(cudaStream_t stream);  // the weights
  void forward(cudaStream_t stream);
  void backward(cudaStream_t stream);  // REQUIRES: forward()

  // Wrong elements of some rows of y and dx. Overwrites all rows. The gradient of the weights is checked with
  // the sweep of norms.
  [[nodiscard]] std::uint64_t count_wrong(const Stream& stream);

 private:
  NormShape shape_;
  NormRows rows_;
  int multiprocessors_;
  DeviceBuffer<Bf16> weight_;
  DeviceBuffer<float> mean_;
  DeviceBuffer<float> rstd_;
  DeviceBuffer<Bf16> d_weight_;
  DeviceBuffer<float> partial_;
};

}  // namespace goodput::gpu::calibrate
