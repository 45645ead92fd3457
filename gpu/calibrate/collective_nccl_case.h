// A collective with its memory: what is sent is known, so what comes can be checked.
#pragma once

#include <cstdint>

#include "gpu/calibrate/collective_sweep.h"
#include "gpu/device_memory.h"
#include "gpu/nccl/communicator.h"

namespace goodput::gpu::calibrate {

class CollectiveCase {
 public:
  // Out of place, and nothing of the result is right before it ran. `of`: the ranks of the point. Throws
  // CudaError.
  CollectiveCase(const CollectivePoint& point, Communicator& of, const Stream& stream);

  // Queues one; can be captured. Throws as Communicator.
  void queue(cudaStream_t stream);

  // Of this rank, after the last that was queued has ended. Waits for the stream.
  [[nodiscard]] std::uint64_t count_wrong(const Stream& stream);

  // "ncclAllReduce"
  [[nodiscard]] static const char* call_of(CollectiveOp op);

 private:
  void queue_in_group(ncclComm_t comm, cudaStream_t stream);
  [[nodiscard]] std::size_t place_of(std::int32_t rank) const {
    return static_cast<std::size_t>(rank) * share_;
  }

  CollectivePoint point_;
  Communicator& of_;
  std::size_t all_;    // numbers
  std::size_t share_;  // of a rank
  DeviceBuffer<float> sent_;
  DeviceBuffer<float> received_;
  DeviceBuffer<unsigned long long> wrong_{1};
};

}  // namespace goodput::gpu::calibrate
