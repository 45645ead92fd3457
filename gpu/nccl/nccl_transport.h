// A rank a process and device, over NCCL. No call waits for the device but synchronize(), and all others can
// be captured. Errors: gpu/nccl/communicator.h.
#pragma once

#include "gpu/nccl/communicator.h"
#include "gpu/transport.h"

namespace goodput::gpu {

class NcclTransport final : public Transport {
 public:
  // The communicator must outlive it.
  explicit NcclTransport(Communicator& communicator)
      : communicator_(communicator), local_{communicator.rank()} {}

  [[nodiscard]] std::int32_t ranks() const override { return communicator_.ranks(); }
  [[nodiscard]] const std::vector<std::int32_t>& local_ranks() const override { return local_; }

  // Both throw std::invalid_argument for more or fewer than one part.
  void all_gather(const std::vector<CountExchange>& parts, std::size_t count, cudaStream_t stream) override;
  // A group of a send and a receive for every peer with rows. Throws std::logic_error, before anything is
  // queued, where numbers of rows are negative or the rank is to receive from itself what it does not send.
  void all_to_all(const std::vector<RowExchange>& parts, std::size_t row_bytes, cudaStream_t stream) override;
  void synchronize(cudaStream_t stream) override { communicator_.synchronize(stream); }
  void synchronize(cudaEvent_t event) override { communicator_.synchronize(event); }

 private:
  void check_part(std::size_t parts) const;
  void check_rows(const RowExchange& part) const;

  Communicator& communicator_;
  std::vector<std::int32_t> local_;
};

}  // namespace goodput::gpu
