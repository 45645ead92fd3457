#include "tests/simt/nccl_transfers.h"

#include <array>

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

void add_all_gather(GroupWork& work, const DataCall& call, std::size_t bytes, int rank, int ranks) {
  for (int step = 0; step < ranks; ++step) {
    const int peer = (rank + step) % ranks;
    char* const to = static_cast<char*>(call.to) + static_cast<std::size_t>(peer) * bytes;
    work.collectives.push_back(
        {MessageKind::kAllGather, Direction::kSend, peer, data_of(call.from), bytes, call.type, false});
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
  const std::string verb = expected.kind == MessageKind::kSendReceive ? " sends " : " gathers ";
  return rank_text(peer) + verb + std::to_string(came.bytes) + " bytes to " + rank_text(rank) +
         ", which expects " + std::to_string(expected.bytes);
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
  if (op == DataOp::kAllGather) return "ncclAllGather";
  return op == DataOp::kSend ? "ncclSend" : "ncclRecv";
}

BufferBlocks blocks_of(DataOp op, int ranks) {
  if (op == DataOp::kAllGather) return {1, ranks};
  return op == DataOp::kSend ? BufferBlocks{1, 0} : BufferBlocks{0, 1};
}

void add_transfers(GroupWork& work, const DataCall& call, int rank, int ranks) {
  const std::size_t bytes = call.count * bytes_of(call.type);
  if (call.op == DataOp::kAllGather) return add_all_gather(work, call, bytes, rank, ranks);
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
  if (kind == MessageKind::kAllGather) return "ncclAllGather";
  if (kind == MessageKind::kHello) return "ncclCommInitRankConfig";
  return direction == Direction::kSend ? "ncclSend" : "ncclRecv";
}

}  // namespace simt
