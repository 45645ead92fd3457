#include "gpu/calibrate/collective_nccl_exchange.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "gpu/nccl/nccl_call.h"

namespace goodput::gpu::calibrate {

CollectiveExchange::CollectiveExchange(Communicator& communicator, std::size_t most_bytes)
    : communicator_(communicator),
      most_bytes_(most_bytes),
      own_(most_bytes),
      all_(most_bytes * static_cast<std::size_t>(communicator.ranks())),
      host_(most_bytes * static_cast<std::size_t>(communicator.ranks())) {}

std::vector<std::string> CollectiveExchange::gather(const void* own, std::size_t bytes) {
  if (bytes > most_bytes_)
    throw std::logic_error("a rank exchanges more bytes than the maximum given at construction");
  const auto ranks = static_cast<std::size_t>(communicator_.ranks());
  std::memcpy(host_.data(), own, bytes);
  communicator_.or_abort([&] {
    GOODPUT_CUDA(cudaMemcpyAsync(own_.data(), host_.data(), bytes, cudaMemcpyHostToDevice, stream_.get()));
  });
  communicator_.group("the exchange of results", [&](ncclComm_t comm) {
    GOODPUT_NCCL_CALL(ncclAllGather(own_.data(), all_.data(), bytes, ncclUint8, comm, stream_.get()));
  });
  communicator_.or_abort([&] {
    GOODPUT_CUDA(
        cudaMemcpyAsync(host_.data(), all_.data(), ranks * bytes, cudaMemcpyDeviceToHost, stream_.get()));
  });
  communicator_.synchronize(stream_.get());
  std::vector<std::string> all;
  for (std::size_t rank = 0; rank < ranks; ++rank) all.emplace_back(host_.data() + rank * bytes, bytes);
  return all;
}

std::string CollectiveExchange::text_of_first(const std::string& own) {
  const std::size_t length = gather(std::uint64_t{own.size()}).front();
  std::string text;
  while (text.size() < length) {
    std::string piece = own.substr(std::min(own.size(), text.size()), most_bytes_);
    piece.resize(std::min(most_bytes_, length - text.size()));
    text += gather(piece.data(), piece.size()).front();
  }
  return text;
}

}  // namespace goodput::gpu::calibrate
