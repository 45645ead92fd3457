// What a group holds: the messages its calls come to.
//
// A collective is made of transfers to and from every rank; one that adds has a sum besides, whose summands
// they bring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simt/nccl.h"
#include "tests/simt/nccl_channel.h"

namespace simt {

enum class Direction : std::uint8_t { kSend, kReceive };

struct Transfer {
  MessageKind kind = MessageKind::kSendReceive;
  Direction direction = Direction::kSend;
  int peer = 0;
  char* data = nullptr;  // only read if it is sent
  std::size_t bytes = 0;
  ncclDataType_t type = ncclInt8;
  bool corrupted = false;  // a fault on order
  int sum = kNoSum;        // which one of the group's it brings the peer's summand to: `data` is none then

  static constexpr int kNoSum = -1;
};

// Over all ranks, of `bytes` from each.
struct SumOverRanks {
  const char* own = nullptr;
  char* to = nullptr;
  std::size_t bytes = 0;
  ncclDataType_t type = ncclInt32;
};

// Of one communicator. Collectives come first: their order among sends and receives is nobody's business.
struct GroupWork {
  std::vector<Transfer> collectives;
  std::vector<Transfer> sends_and_receives;
  std::vector<SumOverRanks> sums;
  std::vector<cudaStream_t> streams;  // each once, in the order of the calls

  std::vector<Transfer> in_order() const;
};

enum class DataOp : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kSend, kReceive };

// A call that moves data, as its caller wrote it.
struct DataCall {
  DataOp op = DataOp::kAllGather;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclInt8;
  int peer = 0;  // of ncclSend and ncclRecv
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  bool corrupted = false;
  ncclRedOp_t sum = ncclSum;  // of those that add
};

const char* name_of(DataOp op);

// How many times `count` elements a call reads and writes.
struct BufferBlocks {
  int from = 0;
  int to = 0;
};
BufferBlocks blocks_of(DataOp op, int ranks);

std::size_t bytes_of(ncclDataType_t type);  // 0: there is no such type
std::string name_of(ncclDataType_t type);

// What is wrong with how a call adds, or "".
std::string sum_error(const DataCall& call);

// REQUIRES: bytes_of(call.type) != 0, and no sum_error().
void add_transfers(GroupWork& work, const DataCall& call, int rank, int ranks);

// What is wrong with the sends of `rank` to itself, which must match its receives from itself; or "".
std::string mismatch_with_itself(const GroupWork& work, int rank);

// What is wrong with a message of rank `peer` that came where `rank` expects its message of this `number`
// to be `expected`; or "".
std::string mismatch_with(const Transfer& expected, std::uint64_t number, int rank, int peer,
                          const MessageHeader& came);

// The call that a message came of: "ncclSend".
const char* call_of(MessageKind kind, Direction direction);

}  // namespace simt
