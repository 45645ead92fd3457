// A block of a training step, forward and backward, as the checks time it: parts that run one after another
// on one stream, each a public entry point that a table of the calibration file prices (docs/calibrate.md).
// Parts hand on what they compute, so that a block finds in the caches what a step would.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/device_memory.h"
#include "gpu/element.h"

namespace goodput::gpu::calibrate {

struct BlockPart {
  std::string name;  // with is_backward, no other part has it
  bool is_backward;
  std::function<void(cudaStream_t)> run;  // REQUIRES: the parts before it have run
};

// Holds its memory; copies share it, and must not overlap.
struct Block {
  std::vector<BlockPart> parts;
  std::function<void(cudaStream_t)> fill;  // with what is timed
  std::function<std::uint64_t(const Stream&)>
      count_wrong;                          // results that are not the reference's; overwrites
  std::vector<std::int64_t> expert_rows{};  // that every expert of the rank gets
  std::string source;

  void run(cudaStream_t stream) const {
    for (const BlockPart& part : parts) part.run(stream);
  }
};

// Stands for what reads and writes `bytes` elementwise, all together: no public library has such kernels.
inline void move_bytes(const Bf16* from, Bf16* to, std::int64_t bytes, cudaStream_t stream) {
  GOODPUT_CUDA(
      cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes) / 2, cudaMemcpyDeviceToDevice, stream));
}

}  // namespace goodput::gpu::calibrate
