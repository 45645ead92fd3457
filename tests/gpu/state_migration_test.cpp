// States that move over NCCL as models/migration plans it, and what cannot be moved.
#include "gpu/nccl/state_migration.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "gpu/device_memory.h"
#include "models/migration/expert_migration.h"
#include "tests/gpu/nccl_ranks.h"
#include "tests/simt/nccl_faults.h"
#include "tests/support/random_placement.h"

namespace goodput::gpu::testing {
namespace {

using Bytes = std::vector<unsigned char>;
using LayerExpert = std::pair<std::int32_t, std::int32_t>;

constexpr std::int64_t kStateBytes = 1001;

Bytes expert_state(const LayerExpert& of) {
  Bytes bytes(kStateBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(i * 31 + static_cast<std::size_t>(of.first * 64 + of.second) * 7);
  }
  return bytes;
}

// The experts of every live node, by its place among the live ones.
std::vector<std::map<LayerExpert, Bytes>> states_of(const ClusterPlacement& placed,
                                                    const std::vector<std::int32_t>& live_ids) {
  std::vector<std::map<LayerExpert, Bytes>> states(live_ids.size());
  for (std::size_t n = 0; n < placed.node_ids.size(); ++n) {
    const auto live = std::ranges::lower_bound(live_ids, placed.node_ids[n]);
    if (live == live_ids.end() || *live != placed.node_ids[n]) continue;
    for (std::size_t layer = 0; layer < placed.layers.size(); ++layer) {
      for (const std::int32_t expert : placed.layers[layer].node(static_cast<std::int32_t>(n))) {
        const LayerExpert what{static_cast<std::int32_t>(layer), expert};
        states[static_cast<std::size_t>(live - live_ids.begin())][what] = expert_state(what);
      }
    }
  }
  return states;
}

std::vector<StateTransfer> transfers_of(const Migration& migration,
                                        const std::vector<std::int32_t>& live_ids) {
  const auto rank_of = [&](std::int32_t id) {
    return static_cast<std::int32_t>(std::ranges::lower_bound(live_ids, id) - live_ids.begin());
  };
  std::vector<StateTransfer> transfers;
  for (const ExpertTransfer& move : migration.moves.transfers) {
    transfers.push_back({move.layer, move.expert, rank_of(move.from), rank_of(move.to), kStateBytes});
  }
  return transfers;
}

// What a rank holds on its device.
class HeldStates {
 public:
  explicit HeldStates(const std::map<LayerExpert, Bytes>& states) {
    for (const auto& [what, bytes] : states) memory_.emplace(what, upload(bytes));
  }

  void* place_of(const StateTransfer& transfer) {
    auto& memory = memory_[{transfer.layer, transfer.expert}];
    if (memory.data() == nullptr) memory = DeviceBuffer<unsigned char>(kStateBytes);
    return memory.data();
  }

  [[nodiscard]] bool holds(const LayerExpert& what) const {
    const auto found = memory_.find(what);
    return found != memory_.end() &&
           download(found->second.data(), found->second.size()) == expert_state(what);
  }

 private:
  std::map<LayerExpert, DeviceBuffer<unsigned char>> memory_;
};

// "" where every rank holds what the migration wants there, but for what comes from a checkpoint.
std::string migrated_wrongly(const goodput::testing::ReplacementCase& random, const Migration& migration) {
  const auto before = states_of(random.placed, random.live_ids);
  const auto after = states_of(migration.placed, random.live_ids);
  const auto transfers = transfers_of(migration, random.live_ids);
  const auto ends = run_nccl_ranks(
      {.ranks = static_cast<std::int32_t>(random.live_ids.size())}, [&](Communicator& communicator) {
        const auto me = static_cast<std::size_t>(communicator.rank());
        HeldStates held(before[me]);
        const Stream stream;
        migrate_states(
            communicator, transfers, [&](const StateTransfer& transfer) { return held.place_of(transfer); },
            stream.get());
        std::size_t missing = 0;
        for (const auto& state : after[me]) missing += held.holds(state.first) ? 0 : 1;
        const auto restored =
            std::ranges::count(migration.moves.from_checkpoint, random.live_ids[me], &ExpertRestore::to);
        if (missing != static_cast<std::size_t>(restored)) throw std::runtime_error("states are missing");
      });
  return message_of(ends);
}

TEST_CASE(
    "state migration: after what models/migration plans, every rank holds what the new placement wants") {
  int migrations = 0;
  std::size_t moved = 0;
  for (std::uint64_t seed = 0; migrations < 12; ++seed) {
    CAPTURE(seed);
    const goodput::testing::ReplacementCase random = goodput::testing::random_replacement(seed);
    const Migration migration = migrate(random.placed, random.live_ids, random.plan, MappingRule::kGreedy);
    if (random.live_ids.size() > 8 || migration.moves.transfers.empty()) continue;
    CHECK(migrated_wrongly(random, migration) == "");
    ++migrations;
    moved += migration.moves.transfers.size();
  }
  CHECK(moved > 100);
}

// What two ranks say to `transfers`, all of which are at `place` (an offset into 4096 bytes of each rank).
std::string problem_of(const std::vector<StateTransfer>& transfers,
                       const std::function<std::int64_t(const StateTransfer&)>& offset_of) {
  const auto ends = run_nccl_ranks({.ranks = 2}, [&](Communicator& communicator) {
    DeviceBuffer<unsigned char> memory(4096);
    const auto place_of = [&](const StateTransfer& transfer) -> void* {
      const std::int64_t offset = offset_of(transfer);
      return offset < 0 ? nullptr : memory.data() + offset;
    };
    const Stream stream;
    migrate_states(communicator, transfers, place_of, stream.get());
  });
  return message_of(ends);
}

// Every rank finds it by itself, or ends because another one did.
TEST_CASE("state migration: transfers that cannot be are refused before anything is sent") {
  const auto at_0 = [](const StateTransfer&) { return std::int64_t{0}; };
  const auto says = [&](const StateTransfer& transfer, const std::string& problem) {
    return has(problem_of({transfer}, at_0),
               ": migration: the state of expert 5 of layer 2 from rank " + problem);
  };
  CHECK(says({2, 5, 0, 2, 8}, "0 to rank 2 refers to a rank that does not exist: the number of ranks is 2"));
  CHECK(says({2, 5, 3, 2, 8}, "3 to rank 2 refers to a rank that does not exist: the number of ranks is 2"));
  CHECK(
      says({2, 5, -1, 1, 8}, "-1 to rank 1 refers to a rank that does not exist: the number of ranks is 2"));
  CHECK(says({2, 5, 1, 1, 8}, "1 to rank 1 has the same source and destination rank"));
  CHECK(says({2, 5, 0, 1, 0}, "0 to rank 1 has 0 bytes"));
  CHECK(says({2, 5, 0, 1, -8}, "0 to rank 1 has -8 bytes"));
  const auto nowhere = [](const StateTransfer&) { return std::int64_t{-1}; };
  CHECK(has(problem_of({{2, 5, 0, 1, 8}}, nowhere), "0 to rank 1 has no memory on rank "));
}

TEST_CASE("state migration: nothing is written over what is read or written by another transfer") {
  const std::string over = "would overwrite the state of expert ";
  // Both are of 100 bytes; 5 is at 200.
  const auto with_other_at = [](std::int64_t offset) {
    return
        [offset](const StateTransfer& transfer) { return transfer.expert == 5 ? std::int64_t{200} : offset; };
  };
  const std::vector<StateTransfer> sent_back = {{2, 5, 0, 1, 100}, {2, 6, 1, 0, 100}};
  const std::vector<StateTransfer> both_arrive = {{2, 5, 0, 1, 100}, {2, 6, 0, 1, 100}};
  for (const std::int64_t offset : {101, 199, 200, 201, 299}) {
    CAPTURE(offset);
    // On rank 0 it is 6 that is written, on rank 1 it is 5.
    const std::string of_one_sent = problem_of(sent_back, with_other_at(offset));
    CHECK((has(of_one_sent, "from rank 1 to rank 0 " + over + "5 of layer 2 from rank 0 to rank 1") ||
           has(of_one_sent, "from rank 0 to rank 1 " + over + "6 of layer 2 from rank 1 to rank 0")));
    CHECK(has(problem_of(both_arrive, with_other_at(offset)), over));
  }
  for (const std::int64_t offset : {0, 100, 300}) {
    CAPTURE(offset);
    CHECK(problem_of(sent_back, with_other_at(offset)) == "");
    CHECK(problem_of(both_arrive, with_other_at(offset)) == "");
  }
}

TEST_CASE(
    "state migration: nothing is written over a state that reaches beyond what is read behind its begin") {
  // On rank 0: 5 is read from [0, 100), 6 from [10, 20), and 7 is to be written to [50, 60).
  const std::vector<StateTransfer> transfers = {{0, 5, 0, 1, 100}, {0, 6, 0, 1, 10}, {0, 7, 1, 0, 10}};
  const std::vector<std::size_t> on_rank_0 = {0, 10, 50};
  const std::vector<std::size_t> on_rank_1 = {0, 200, 300};
  const auto ends = run_nccl_ranks({.ranks = 2}, [&](Communicator& communicator) {
    DeviceBuffer<unsigned char> memory(400);
    const auto& offsets = communicator.rank() == 0 ? on_rank_0 : on_rank_1;
    const auto place_of = [&](const StateTransfer& transfer) {
      return memory.data() + offsets.at(static_cast<std::size_t>(transfer.expert - 5));
    };
    const Stream stream;
    migrate_states(communicator, transfers, place_of, stream.get());
  });
  CHECK(error_of(ends, 0) ==
        "migration: the state of expert 7 of layer 0 from rank 1 to rank 0 would overwrite the state of "
        "expert 5 of layer 0 from rank 0 to rank 1");
}

TEST_CASE("state migration: a rank whose list differs in any number, or in length, is named") {
  const StateTransfer one = {0, 0, 0, 1, 100};
  const std::vector<std::vector<StateTransfer>> others = {{{1, 0, 0, 1, 100}},
                                                          {{0, 1, 0, 1, 100}},
                                                          {{0, 0, 2, 1, 100}},
                                                          {{0, 0, 0, 2, 100}},
                                                          {{0, 0, 0, 1, 99}},
                                                          {one, one},
                                                          {}};
  for (const std::vector<StateTransfer>& other : others) {
    CAPTURE(&other - others.data());
    const auto ends = run_nccl_ranks({.ranks = 3}, [&](Communicator& communicator) {
      DeviceBuffer<unsigned char> memory(100);
      const std::vector<StateTransfer> list = communicator.rank() == 2 ? other : std::vector{one};
      const Stream stream;
      migrate_states(
          communicator, list, [&](const StateTransfer&) { return memory.data(); }, stream.get());
    });
    CHECK(has(message_of(ends), ": migration: rank 2 has a different list of transfers than rank 0"));
  }
}

TEST_CASE("state migration: a state that arrives otherwise than it was sent is an error") {
  // Calls: joining, an all-gather and its group's end, then the second of two states that are sent.
  const auto corrupt_on_rank_0 = [](std::int32_t rank) {
    if (rank == 0) simt::set_nccl_faults({.corrupt_at_call = 5});
  };
  const auto ends =
      run_nccl_ranks({.ranks = 2, .prepare = corrupt_on_rank_0}, [](Communicator& communicator) {
        const std::vector<StateTransfer> transfers = {{1, 3, 0, 1, 500}, {1, 4, 0, 1, 600}};
        DeviceBuffer<unsigned char> memory = upload(Bytes(1100, 7));
        const Stream stream;
        migrate_states(
            communicator, transfers,
            [&](const StateTransfer& transfer) { return memory.data() + (transfer.expert == 3 ? 0 : 500); },
            stream.get());
      });
  CHECK(error_of(ends, 1) ==
        "migration: the state of expert 4 of layer 1 from rank 0 to rank 1 was corrupted in transit "
        "(checksums differ)");
}

TEST_CASE(
    "state migration: of several states that arrive otherwise the first is named, and the others counted") {
  // As above on rank 0; rank 2 changes the only state it sends. Rank 1 looks at what it has from rank 0
  // first.
  const auto corrupt = [](std::int32_t rank) {
    if (rank != 1) simt::set_nccl_faults({.corrupt_at_call = rank == 0 ? 5 : 4});
  };
  const auto ends = run_nccl_ranks({.ranks = 3, .prepare = corrupt}, [](Communicator& communicator) {
    const std::vector<StateTransfer> transfers = {{1, 3, 0, 1, 500}, {1, 4, 0, 1, 500}, {1, 5, 2, 1, 500}};
    DeviceBuffer<unsigned char> memory = upload(Bytes(1500, 7));
    const Stream stream;
    migrate_states(
        communicator, transfers,
        [&](const StateTransfer& transfer) { return memory.data() + 500 * (transfer.expert - 3); },
        stream.get());
  });
  CHECK(error_of(ends, 1) ==
        "migration: the state of expert 4 of layer 1 from rank 0 to rank 1 was corrupted in transit "
        "(checksums differ), in addition to 1 more");
}

}  // namespace
}  // namespace goodput::gpu::testing
