#include "gpu/calibrate/collective_nccl_case.h"

#include "gpu/calibrate/collective_payload.h"
#include "gpu/nccl/nccl_call.h"

namespace goodput::gpu::calibrate {
namespace {

// Bytes of no small integer: a NaN.
constexpr int kNoNumber = 0xff;

}  // namespace

CollectiveCase::CollectiveCase(const CollectivePoint& point, Communicator& of, const Stream& stream)
    : point_(point),
      of_(of),
      all_(static_cast<std::size_t>(point.bytes) / sizeof(float)),
      share_(all_ / static_cast<std::size_t>(of.ranks())),
      sent_(point.op == CollectiveOp::kAllGather ? share_ : all_),
      received_(point.op == CollectiveOp::kReduceScatter ? share_ : all_) {
  fill_collective_numbers(sent_.data(), static_cast<std::int64_t>(sent_.size()), of.rank(), stream.get());
  GOODPUT_CUDA(cudaMemsetAsync(received_.data(), kNoNumber, received_.size() * sizeof(float), stream.get()));
  stream.synchronize();
}

void CollectiveCase::queue(cudaStream_t stream) {
  of_.group(name_of(point_.op), [&](ncclComm_t comm) { queue_in_group(comm, stream); });
}

void CollectiveCase::queue_in_group(ncclComm_t comm, cudaStream_t stream) {
  const std::int32_t ranks = of_.ranks();
  const auto send = [&](const float* from, std::size_t count, std::int32_t to) {
    GOODPUT_NCCL_CALL(ncclSend(from, count, ncclFloat32, to, comm, stream));
  };
  const auto receive = [&](float* to, std::size_t count, std::int32_t from) {
    GOODPUT_NCCL_CALL(ncclRecv(to, count, ncclFloat32, from, comm, stream));
  };
  switch (point_.op) {
    case CollectiveOp::kAllReduce:
      GOODPUT_NCCL_CALL(
          ncclAllReduce(sent_.data(), received_.data(), all_, ncclFloat32, ncclSum, comm, stream));
      return;
    case CollectiveOp::kAllGather:
      GOODPUT_NCCL_CALL(ncclAllGather(sent_.data(), received_.data(), share_, ncclFloat32, comm, stream));
      return;
    case CollectiveOp::kReduceScatter:
      GOODPUT_NCCL_CALL(
          ncclReduceScatter(sent_.data(), received_.data(), share_, ncclFloat32, ncclSum, comm, stream));
      return;
    case CollectiveOp::kAllToAll:
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        send(sent_.data() + place_of(rank), share_, rank);
        receive(received_.data() + place_of(rank), share_, rank);
      }
      return;
    case CollectiveOp::kSendRecv:
      send(sent_.data(), all_, (of_.rank() + 1) % ranks);
      receive(received_.data(), all_, (of_.rank() + ranks - 1) % ranks);
      return;
  }
}

std::uint64_t CollectiveCase::count_wrong(const Stream& stream) {
  const std::int32_t ranks = of_.ranks();
  const auto own_place = static_cast<std::int64_t>(place_of(of_.rank()));
  const auto count = [&](std::size_t from, std::size_t numbers, const CollectiveSum& expected) {
    add_wrong_sums(received_.data() + from, static_cast<std::int64_t>(numbers), expected, wrong_.data(),
                   stream.get());
  };
  const auto count_blocks = [&](std::int64_t begin) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) count(place_of(rank), share_, {rank, 1, begin});
  };
  GOODPUT_CUDA(cudaMemsetAsync(wrong_.data(), 0, sizeof(unsigned long long), stream.get()));
  switch (point_.op) {
    case CollectiveOp::kAllReduce:
      count(0, all_, {0, ranks, 0});
      break;
    case CollectiveOp::kAllGather:
      count_blocks(0);
      break;
    case CollectiveOp::kReduceScatter:
      count(0, share_, {0, ranks, own_place});
      break;
    case CollectiveOp::kAllToAll:
      count_blocks(own_place);
      break;
    case CollectiveOp::kSendRecv:
      count(0, all_, {(of_.rank() + ranks - 1) % ranks, 1, 0});
      break;
  }
  stream.synchronize();
  return download(wrong_.data(), 1).front();
}

const char* CollectiveCase::call_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return "ncclAllReduce";
    case CollectiveOp::kAllGather:
      return "ncclAllGather";
    case CollectiveOp::kReduceScatter:
      return "ncclReduceScatter";
    case CollectiveOp::kAllToAll:
      return "a group of ncclSend and ncclRecv for every rank";
    case CollectiveOp::kSendRecv:
      break;
  }
  return "a group of ncclSend and ncclRecv";
}

}  // namespace goodput::gpu::calibrate
