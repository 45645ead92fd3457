#include "gpu/virtual_transport.h"

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

#include "gpu/cuda_call.h"
#include "gpu/dispatch_shape.h"

namespace goodput::gpu {
namespace {

void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (bytes != 0) GOODPUT_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}

// Where the next message of a rank begins, in rows.
std::size_t advance(std::size_t& next, std::int32_t rows) {
  const std::size_t begin = next;
  next += static_cast<std::size_t>(rows);
  return begin;
}

// Before anything is copied.
void check_ends(const std::vector<RowExchange>& parts) {
  for (std::size_t source = 0; source < parts.size(); ++source) {
    for (std::size_t target = 0; target < parts.size(); ++target) {
      const std::int32_t sent = parts[source].send_rows[target];
      const std::int32_t expected = parts[target].receive_rows[source];
      if (sent == expected) continue;
      throw std::logic_error("virtual transport: rank " + std::to_string(source) + " sends " +
                             std::to_string(sent) + " rows to rank " + std::to_string(target) +
                             ", which expects " + std::to_string(expected));
    }
  }
}

}  // namespace

VirtualTransport::VirtualTransport(std::int32_t ranks) {
  if (ranks < 1 || ranks > kMaxRanks) {
    throw std::invalid_argument("virtual transport: ranks must be from 1 to " + std::to_string(kMaxRanks) +
                                ", not " + std::to_string(ranks));
  }
  local_.resize(static_cast<std::size_t>(ranks));
  std::iota(local_.begin(), local_.end(), 0);
}

void VirtualTransport::check_parts(std::size_t parts) const {
  if (parts != local_.size()) {
    throw std::invalid_argument("virtual transport: " + std::to_string(parts) + " parts for " +
                                std::to_string(local_.size()) + " ranks");
  }
}

void VirtualTransport::all_gather(const std::vector<CountExchange>& parts, std::size_t count,
                                  cudaStream_t stream) {
  check_parts(parts.size());
  std::int32_t* const first = parts.front().receive;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    copy(first + rank * count, parts[rank].send, count * sizeof(std::int32_t), stream);
  }
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    copy(parts[rank].receive, first, parts.size() * count * sizeof(std::int32_t), stream);
  }
}

void VirtualTransport::all_to_all(const std::vector<RowExchange>& parts, std::size_t row_bytes,
                                  cudaStream_t stream) {
  check_parts(parts.size());
  check_ends(parts);
  std::vector<std::size_t> received(parts.size(), 0);
  for (std::size_t source = 0; source < parts.size(); ++source) {
    std::size_t sent = 0;
    for (std::size_t target = 0; target < parts.size(); ++target) {
      const std::int32_t rows = parts[source].send_rows[target];
      const std::size_t from = advance(sent, rows);
      const std::size_t to = advance(received[target], rows);
      copy(static_cast<unsigned char*>(parts[target].receive) + to * row_bytes,
           static_cast<const unsigned char*>(parts[source].send) + from * row_bytes,
           static_cast<std::size_t>(rows) * row_bytes, stream);
    }
  }
}

void VirtualTransport::synchronize(cudaStream_t stream) {
  GOODPUT_CUDA(cudaStreamSynchronize(stream));
}

void VirtualTransport::synchronize(cudaEvent_t event) {
  GOODPUT_CUDA(cudaEventSynchronize(event));
}

}  // namespace goodput::gpu
