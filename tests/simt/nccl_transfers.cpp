#include "tests/simt/nccl_transfers.h"

#include <array>

#include "tests/simt/nccl_sum.h"

namespace simt {

namespace {

struct DataType {
  const char* name;
  std::size_t bytes;
};

constexpr std::array<DataType, ncclNumTypes> kDataTypes = {{
    {"ncclInt8", 1},
    {"ncclUint8", 1},
    {"ncclInt32", 4},
    {"ncclUint32", 4},
    {"ncclInt64", 8},
    {"ncclUint64", 8},
    {"ncclFloat16", 2},
    {"ncclFloat32", 4},
    {"ncclFloat64", 8},
    {"ncclBfloat16", 2},
    {"ncclFloat8e4m3", 1},
    {"ncclFloat8e5m2", 1},
}};

bool is_data_type(ncclDataType_t type) {
  return type >= 0 && type < ncclNumTypes;
}

std::string rank_text(int rank) {
  return "rank " + std::to_string(rank);
}

// Sends are not written to: one member holds both directions.
char* data_of(const void* from) {
  return static_cast<char*>(const_cast<void*>(from));
}

// A fault is in what the next rank gets.
bool is_corrupted(const DataCall& call, int step) {
  return call.corrupted && step == 1;
}

// Of all-reduce everybody needs all, of reduce-scatter rank p block p.
void add_sum(GroupWork& work, const DataCall& call, std::size_t bytes, int rank, int ranks) {
  const MessageKind kind =
      call.op == DataOp::kAllReduce ? MessageKind::kAllReduce : MessageKind::kReduceScatter;
  const auto block_for = [&](int peer) {
    return data_of(call.from) +
           (kind == MessageKind::kAllReduce ? 0 : static_cast<std::size_t>(peer) * bytes);
  };
  const int sum = static_cast<int>(work.sums.size());
  work.sums.push_back({block_for(rank), static_cast<char*>(call.to), bytes, call.type});
  for (int step = 1; step < ranks; ++step) {
    const int peer = (rank + step) % ranks;
    work.collectives.push_back(
        {kind, Direction::kSend, peer, block_for(peer), bytes, call.type, is_corrupted(call, step)});
    work.collectives.push_back({kind, Direction::kReceive, peer, nullptr, bytes, call.type, false, sum});
  }
}

void add_all_gather(GroupWork& work, const DataCall& call, std::size_t bytes, int rank, int ranks) {
  for (int step = 0; step < ranks; ++step) {
    const int peer = (rank + step) % ranks;
    char* const to = static_cast<char*>(call.to) + static_cast<std::size_t>(peer) * bytes;
    work.collectives.push_back({MessageKind::kAllGather, Direction::kSend, peer, data_of(call.from), bytes,
                                call.type, is_corrupted(call, step)});
    work.collectives.push_back(
        {MessageKind::kAllGather, Direction::kReceive, peer, to, bytes, call.type, false});
  }
}

std::vector<Transfer> with_itself(const GroupWork& work, int rank, Direction direction) {
  std::vector<Transfer> found;
  for (const Transfer& transfer : work.in_order())
    if (transfer.peer == rank && transfer.direction == direction) found.push_back(transfer);
  return found;
}

std::string differing_sizes(const Transfer& expected, int rank, int peer, const MessageHeader& came) {
  const bool adds = expected.kind == MessageKind::kAllReduce || expected.kind == MessageKind::kReduceScatter;
  const std::string verb = expected.kind == MessageKind::kAllGather ? " gathers " : " sends ";
  return rank_text(peer) + (adds ? " adds " : verb) + std::to_string(came.bytes) + " bytes to " +
         rank_text(rank) + ", which expects " + std::to_string(expected.bytes);
}

}  // namespace

std::size_t bytes_of(ncclDataType_t type) {
  return is_data_type(type) ? kDataTypes[static_cast<std::size_t>(type)].bytes : 0;
}

std::string name_of(ncclDataType_t type) {
  return is_data_type(type) ? kDataTypes[static_cast<std::size_t>(type)].name : "no data type";
}

std::vector<Transfer> GroupWork::in_order() const {
  std::vector<Transfer> all = collectives;
  all.insert(all.end(), sends_and_receives.begin(), sends_and_receives.end());
  return all;
}

const char* name_of(DataOp op) {
  switch (op) {
    case DataOp::kAllReduce:
      return "ncclAllReduce";
    case DataOp::kReduceScatter:
      return "ncclReduceScatter";
    case DataOp::kAllGather:
      return "ncclAllGather";
    case DataOp::kSend:
      return "ncclSend";
    case DataOp::kReceive:
      break;
  }
  return "ncclRecv";
}

BufferBlocks blocks_of(DataOp op, int ranks) {
  switch (op) {
    case DataOp::kAllReduce:
      return {1, 1};
    case DataOp::kReduceScatter:
      return {ranks, 1};
    case DataOp::kAllGather:
      return {1, ranks};
    case DataOp::kSend:
      return {1, 0};
    case DataOp::kReceive:
      break;
  }
  return {0, 1};
}

std::string sum_error(const DataCall& call) {
  if (call.op != DataOp::kAllReduce && call.op != DataOp::kReduceScatter) return "";
  if (call.sum != ncclSum) return "op " + std::to_string(call.sum) + " is not emulated, only ncclSum is";
  if (is_summable(call.type)) return "";
  return name_of(call.type) + " is not emulated in sums, only ncclInt32, ncclFloat32 and ncclBfloat16 are";
}

void add_transfers(GroupWork& work, const DataCall& call, int rank, int ranks) {
  const std::size_t bytes = call.count * bytes_of(call.type);
  if (call.op == DataOp::kAllGather) return add_all_gather(work, call, bytes, rank, ranks);
  if (call.op == DataOp::kAllReduce || call.op == DataOp::kReduceScatter)
    return add_sum(work, call, bytes, rank, ranks);
  const bool sends = call.op == DataOp::kSend;
  work.sends_and_receives.push_back(
      {MessageKind::kSendReceive, sends ? Direction::kSend : Direction::kReceive, call.peer,
       sends ? data_of(call.from) : static_cast<char*>(call.to), bytes, call.type, sends && call.corrupted});
}

std::string mismatch_with_itself(const GroupWork& work, int rank) {
  const std::vector<Transfer> sent = with_itself(work, rank, Direction::kSend);
  const std::vector<Transfer> received = with_itself(work, rank, Direction::kReceive);
  if (sent.size() != received.size())
    return rank_text(rank) + " sends " + std::to_string(sent.size()) + " messages to itself and receives " +
           std::to_string(received.size()) + " in the group";
  for (std::size_t m = 0; m < sent.size(); ++m) {
    const MessageHeader header{sent[m].kind, static_cast<std::uint32_t>(sent[m].type), 0, sent[m].bytes};
    const std::string wrong = mismatch_with(received[m], 0, rank, rank, header);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string mismatch_with(const Transfer& expected, std::uint64_t number, int rank, int peer,
                          const MessageHeader& came) {
  if (came.number != number)
    return "message " + std::to_string(came.number) + " of " + rank_text(peer) + " came to " +
           rank_text(rank) + ", which expects message " + std::to_string(number);
  if (came.kind != expected.kind)
    return rank_text(peer) + " is in " + call_of(came.kind, Direction::kSend) + " where " + rank_text(rank) +
           " is in " + call_of(expected.kind, Direction::kReceive) + ": a collective that not all ranks call";
  if (came.bytes != expected.bytes) return differing_sizes(expected, rank, peer, came);
  if (came.type != static_cast<std::uint32_t>(expected.type))
    return rank_text(peer) + " sends " + name_of(static_cast<ncclDataType_t>(came.type)) + " to " +
           rank_text(rank) + ", which expects " + name_of(expected.type);
  return "";
}

const char* call_of(MessageKind kind, Direction direction) {
  if (kind == MessageKind::kFinalize) return "ncclCommFinalize";
  if (kind == MessageKind::kSplit) return "ncclCommSplit";
  if (kind == MessageKind::kAllReduce) return "ncclAllReduce";
  if (kind == MessageKind::kReduceScatter) return "ncclReduceScatter";
  if (kind == MessageKind::kAllGather) return "ncclAllGather";
  if (kind == MessageKind::kHello) return "ncclCommInitRankConfig";
  return direction == Direction::kSend ? "ncclSend" : "ncclRecv";
}

}  // namespace simt
