#include "gpu/nccl/nccl_transport.h"

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

#include "gpu/cuda_call.h"
#include "gpu/nccl/nccl_call.h"

namespace goodput::gpu {
namespace {

// Calls `visit` with every rank and the bytes from which on its rows lie.
template <class Visit>
void for_each_message(const std::int32_t* rows, std::int32_t ranks, std::size_t row_bytes,
                      const Visit& visit) {
  std::size_t begin = 0;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const std::size_t bytes = static_cast<std::size_t>(rows[rank]) * row_bytes;
    if (bytes != 0) visit(rank, begin, bytes);
    begin += bytes;
  }
}

}  // namespace

void NcclTransport::check_part(std::size_t parts) const {
  if (parts == 1) return;
  throw std::invalid_argument("NCCL transport: " + std::to_string(parts) +
                              " parts, but only one local rank, " + std::to_string(communicator_.rank()));
}

void NcclTransport::check_rows(const RowExchange& part) const {
  const std::int32_t me = communicator_.rank();
  for (std::int32_t rank = 0; rank < ranks(); ++rank) {
    if (part.send_rows[rank] >= 0 && part.receive_rows[rank] >= 0) continue;
    throw std::logic_error("NCCL transport: rank " + std::to_string(me) +
                           " exchanges a negative number of rows with rank " + std::to_string(rank));
  }
  if (part.send_rows[me] == part.receive_rows[me]) return;
  throw std::logic_error("NCCL transport: rank " + std::to_string(me) + " sends " +
                         std::to_string(part.send_rows[me]) + " rows to itself but expects " +
                         std::to_string(part.receive_rows[me]));
}

void NcclTransport::all_gather(const std::vector<CountExchange>& parts, std::size_t count,
                               cudaStream_t stream) {
  check_part(parts.size());
  const CountExchange& part = parts.front();
  communicator_.group("the all-gather of counts", [&](ncclComm_t comm) {
    GOODPUT_NCCL_CALL(ncclAllGather(part.send, part.receive, count, ncclInt32, comm, stream));
  });
}

void NcclTransport::all_to_all(const std::vector<RowExchange>& parts, std::size_t row_bytes,
                               cudaStream_t stream) {
  check_part(parts.size());
  const RowExchange& part = parts.front();
  check_rows(part);
  const std::int32_t me = communicator_.rank();
  const auto* const send = static_cast<const unsigned char*>(part.send);
  auto* const receive = static_cast<unsigned char*>(part.receive);
  const auto own_begin = [&](const std::int32_t* rows) {
    return std::accumulate(rows, rows + me, std::size_t{0}) * row_bytes;
  };
  const std::size_t own_bytes = static_cast<std::size_t>(part.send_rows[me]) * row_bytes;
  if (own_bytes != 0) {
    GOODPUT_CUDA(cudaMemcpyAsync(receive + own_begin(part.receive_rows), send + own_begin(part.send_rows),
                                 own_bytes, cudaMemcpyDeviceToDevice, stream));
  }
  communicator_.group("the all-to-all of rows", [&](ncclComm_t comm) {
    for_each_message(part.send_rows, ranks(), row_bytes,
                     [&](std::int32_t to, std::size_t begin, std::size_t bytes) {
                       if (to == me) return;
                       GOODPUT_NCCL_CALL(ncclSend(send + begin, bytes, ncclUint8, to, comm, stream));
                     });
    for_each_message(part.receive_rows, ranks(), row_bytes,
                     [&](std::int32_t from, std::size_t begin, std::size_t bytes) {
                       if (from == me) return;
                       GOODPUT_NCCL_CALL(ncclRecv(receive + begin, bytes, ncclUint8, from, comm, stream));
                     });
  });
}

}  // namespace goodput::gpu
