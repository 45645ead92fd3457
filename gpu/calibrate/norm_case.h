// A norm as it is measured: its rows on the device, a run, a check of what it left.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "gpu/calibrate/norm_kernels.h"
#include "gpu/device_memory.h"

namespace goodput::gpu::calibrate {

enum class NormPass : std::uint8_t { kForward, kBackward };

// Rows read and written once; weights and sums are not counted.
[[nodiscard]] std::int64_t norm_bytes(const NormShape& shape, NormPass pass);

// Sets of rows, over which runs rotate; weights are one, and hot.
class NormCase {
 public:
  // Fills the rows with bench::payload() and, for the backward pass, runs the forward one on them.
  NormCase(const NormShape& shape, NormPass pass, int sets, cudaStream_t stream);

  // May be captured.
  void run(int set, cudaStream_t stream);

  // Runs the first set, and looks at some rows of it and at some sums over all rows: how many elements of
  // those are wrong (gpu/calibrate/norm_reference.h). Waits for the stream.
  [[nodiscard]] std::uint64_t count_wrong(const Stream& stream);

 private:
  struct Set {
    DeviceBuffer<Bf16> x;
    DeviceBuffer<Bf16> dy;
    DeviceBuffer<Bf16> result;  // y or dx
    DeviceBuffer<float> mean;
    DeviceBuffer<float> rstd;
  };

  void forward(Set& set, cudaStream_t stream);
  [[nodiscard]] std::uint64_t count_wrong_rows() const;
  [[nodiscard]] std::uint64_t count_wrong_sums() const;

  NormShape shape_;
  NormPass pass_;
  int multiprocessors_;
  std::vector<Set> sets_;
  DeviceBuffer<Bf16> weight_;
  DeviceBuffer<Bf16> bias_;
  DeviceBuffer<Bf16> d_weight_;
  DeviceBuffer<Bf16> d_bias_;
  DeviceBuffer<float> partial_;
};

}  // namespace goodput::gpu::calibrate
