// Places of memory with known content, to be copied by a kernel and to be checked.
#pragma once

#include <cstdint>

#include "gpu/bench/copy_kernels.h"
#include "gpu/bench/payload.h"

namespace goodput::gpu::bench {

class CopyCase {
 public:
  // REQUIRES: as measure_copy_ceiling().
  CopyCase(const CopyFlow& flow, std::int64_t place_bytes);

  [[nodiscard]] CopyWork work();
  // By one run, read and written.
  [[nodiscard]] std::int64_t bytes() const;
  // What is read becomes the payload of that seed: what another kernel left behind is wrong for this one.
  void fill(std::uint64_t seed, const Stream& stream);
  // How many elements are not as they should be behind a run.
  [[nodiscard]] std::uint64_t count_wrong(std::uint64_t seed, const Stream& stream) const;

 private:
  CopyFlow flow_;
  std::int64_t elements_;  // of a place
  std::int64_t stride_;    // elements
  DeviceBuffer<Bf16> from_;
  DeviceBuffer<Bf16> to_;
};

}  // namespace goodput::gpu::bench
