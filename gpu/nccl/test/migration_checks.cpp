// States of experts that move from rank to rank arrive whole, and nothing else changes.
#include "gpu/nccl/state_migration.h"
#include "gpu/nccl/test/nccl_checks.h"
#include "gpu/test/cases.h"
#include "gpu/test/device_vector.h"

namespace goodput::gpu::testing {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::int32_t kLayers = 3;
constexpr std::int32_t kExperts = 9;

std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

// What every rank knows that the state of an expert is.
Bytes state_of(const StateTransfer& transfer) {
  Random random(static_cast<std::uint64_t>(transfer.layer * 1000 + transfer.expert));
  Bytes bytes(size(transfer.bytes));
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.below(256));
  return bytes;
}

// Every expert from one rank to some others, of another size each.
std::vector<StateTransfer> random_transfers(std::int32_t ranks, std::int32_t most_bytes) {
  Random random(static_cast<std::uint64_t>(ranks));
  std::vector<StateTransfer> transfers;
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    for (std::int32_t expert = 0; expert < kExperts; ++expert) {
      const std::int32_t from = random.below(ranks);
      const std::int64_t bytes = 1 + random.below(most_bytes);
      for (std::int32_t to = 0; to < ranks; ++to) {
        if (to != from && random.below(2) == 0) transfers.push_back({layer, expert, from, to, bytes});
      }
    }
  }
  return transfers;
}

// This rank's end of every transfer, in memory of its own with some bytes of poison behind.
struct Ends {
  std::vector<DeviceBuffer<unsigned char>> memory;
  std::vector<Bytes> before;
  std::vector<Bytes> after;
};

constexpr std::size_t kBehind = 40;

Ends make_ends(const std::vector<StateTransfer>& transfers, std::int32_t rank) {
  Ends ends;
  for (const StateTransfer& transfer : transfers) {
    const Bytes poison = poisoned_host<unsigned char>(size(transfer.bytes) + kBehind);
    Bytes state = state_of(transfer);
    state.insert(state.end(), poison.begin(), poison.begin() + kBehind);
    const bool is_end = transfer.from == rank || transfer.to == rank;
    ends.before.push_back(transfer.from == rank ? state : is_end ? poison : Bytes{});
    ends.after.push_back(is_end ? state : Bytes{});
    ends.memory.push_back(upload(ends.before.back()));
  }
  return ends;
}

std::string wrong_migration(const std::vector<StateTransfer>& transfers, Communicator& communicator) {
  Ends ends = make_ends(transfers, communicator.rank());
  const auto place_of = [&](const StateTransfer& transfer) -> void* {
    return ends.memory[size(&transfer - transfers.data())].data();
  };
  const Stream stream;
  migrate_states(communicator, transfers, place_of, stream.get());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const std::string what = "expert " + std::to_string(transfers[i].expert) + " of layer " +
                             std::to_string(transfers[i].layer) + " to rank " +
                             std::to_string(transfers[i].to);
    const std::string wrong =
        differ(what, download(ends.memory[i].data(), ends.memory[i].size()), ends.after[i]);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace

std::vector<NcclCheck> migration_checks(std::int32_t ranks) {
  std::vector<NcclCheck> checks;
  for (const std::int32_t most_bytes : {100, 300'000}) {
    checks.push_back({"migration: states of up to " + std::to_string(most_bytes) + " bytes",
                      [=](Communicator& communicator) {
                        return wrong_migration(random_transfers(ranks, most_bytes), communicator);
                      }});
  }
  checks.push_back({"migration: nothing moves",
                    [](Communicator& communicator) { return wrong_migration({}, communicator); }});
  return checks;
}

}  // namespace goodput::gpu::testing
