// All ranks on one device and in one process: exchanges are copies within its memory. For what a whole
// cluster computes, up to kMaxRanks ranks, never for what it costs: times of this transport say nothing of a
// network.
#pragma once

#include "gpu/transport.h"

namespace goodput::gpu {

class VirtualTransport final : public Transport {
 public:
  // Throws std::invalid_argument unless 1 <= ranks <= kMaxRanks.
  explicit VirtualTransport(std::int32_t ranks);

  [[nodiscard]] std::int32_t ranks() const override { return static_cast<std::int32_t>(local_.size()); }
  [[nodiscard]] const std::vector<std::int32_t>& local_ranks() const override { return local_; }

  void all_gather(const std::vector<CountExchange>& parts, std::size_t count, cudaStream_t stream) override;
  // Throws std::logic_error where two ranks disagree about a message, before anything is copied.
  void all_to_all(const std::vector<RowExchange>& parts, std::size_t row_bytes, cudaStream_t stream) override;
  void synchronize(cudaStream_t stream) override;
  void synchronize(cudaEvent_t event) override;

 private:
  void check_parts(std::size_t parts) const;

  std::vector<std::int32_t> local_;
};

}  // namespace goodput::gpu
