// Reconfiguration of MoE training: who sends what, what cannot be had any more, how long it takes; and what
// must hold whatever died or joined.
#include "models/migration/expert_migration.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "sim/base/index.h"
#include "sim/base/random.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_placement.h"

namespace goodput {
namespace {

using namespace std::chrono_literals;
using testing::random_replacement;
using testing::ReplacementCase;
using Nodes = std::vector<std::int32_t>;
using LayerExpert = std::pair<std::int32_t, std::int32_t>;
using Holdings = std::map<std::int32_t, std::set<LayerExpert>>;  // by id of the node

ExpertPlacement one_layer(std::int32_t experts, std::int32_t slots, Nodes expert_at) {
  const auto nodes = static_cast<std::int32_t>(expert_at.size()) / slots;
  return {experts, nodes, slots, std::move(expert_at)};
}

Holdings holdings_of(const ClusterPlacement& placed) {
  Holdings holdings;
  for (std::size_t layer = 0; layer < placed.layers.size(); ++layer) {
    for (std::size_t n = 0; n < placed.node_ids.size(); ++n) {
      for (const std::int32_t expert : placed.layers[layer].node(static_cast<std::int32_t>(n))) {
        holdings[placed.node_ids[n]].insert({static_cast<std::int32_t>(layer), expert});
      }
    }
  }
  return holdings;
}

Holdings only_live(Holdings holdings, const Nodes& live) {
  std::erase_if(holdings, [&](const auto& node) { return !std::ranges::binary_search(live, node.first); });
  return holdings;
}

// By number of failures: the sets of failed nodes, as bits over places[], that every expert outlives.
Nodes survived_by_failures(const ClusterPlacement& placed, const Nodes& places) {
  const Holdings holdings = holdings_of(placed);
  std::map<LayerExpert, std::uint32_t> nodes_of;
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const LayerExpert& expert : holdings.at(places[i])) nodes_of[expert] |= 1U << i;
  }
  Nodes survived(places.size() + 1);
  for (std::uint32_t failed = 0; failed < 1U << places.size(); ++failed) {
    const bool lives = std::ranges::all_of(
        nodes_of, [failed](const auto& expert) { return (expert.second & ~failed) != 0; });
    if (lives) ++survived[static_cast<std::size_t>(std::popcount(failed))];
  }
  return survived;
}

Nodes sorted(Nodes nodes) {
  std::ranges::sort(nodes);
  return nodes;
}

// The least that the busiest sender can have to send: requests are matched to owners of capacity `most` by
// augmenting paths, with ever more capacity.
class FairestSenders {
 public:
  explicit FairestSenders(std::vector<Nodes> owners) : owners_(std::move(owners)) {}

  std::int64_t busiest() {
    for (std::size_t request = 0; request < owners_.size(); ++request) {
      visited_.clear();
      while (!find_sender(request)) {
        ++most_;
        visited_.clear();
      }
    }
    return most_;
  }

 private:
  bool find_sender(std::size_t request) {
    for (const std::int32_t owner : owners_[request]) {
      if (!visited_.insert(owner).second) continue;
      std::vector<std::size_t>& sends = sends_[owner];
      if (static_cast<std::int64_t>(sends.size()) < most_) {
        sends.push_back(request);
        return true;
      }
      for (std::size_t& other : sends) {
        if (!find_sender(other)) continue;
        other = request;
        return true;
      }
    }
    return false;
  }

  std::vector<Nodes> owners_;  // of each request
  std::int64_t most_ = 0;
  std::map<std::int32_t, std::vector<std::size_t>> sends_{};
  std::set<std::int32_t> visited_{};
};

std::int64_t fairest_busiest(const Holdings& held, const ExpertMoves& plan) {
  std::vector<Nodes> owners;
  for (const ExpertTransfer& transfer : plan.transfers) {
    owners.emplace_back();
    for (const auto& [node, experts] : held) {
      if (experts.contains({transfer.layer, transfer.expert})) owners.back().push_back(node);
    }
  }
  return FairestSenders(std::move(owners)).busiest();
}

// Every missing expert comes once, to who lacks it, from a node that held it all along; what nobody held
// comes from a checkpoint; then every node holds what the plan says.
void check_moves(const ReplacementCase& random, const Migration& migration) {
  const Holdings before = only_live(holdings_of(random.placed), random.live_ids);
  Holdings after = before;
  for (const ExpertTransfer& move : migration.moves.transfers) {
    const LayerExpert what{move.layer, move.expert};
    CHECK(before.contains(move.from));
    if (before.contains(move.from)) CHECK(before.at(move.from).contains(what));
    CHECK(after[move.to].insert(what).second);
  }
  for (const ExpertRestore& restore : migration.moves.from_checkpoint) {
    const LayerExpert what{restore.layer, restore.expert};
    CHECK(std::ranges::none_of(before, [&](const auto& node) { return node.second.contains(what); }));
    CHECK(after[restore.to].insert(what).second);
  }
  const Holdings planned = holdings_of(migration.placed);
  std::size_t missing = 0;
  for (const auto& [node, experts] : planned) {
    CHECK(std::ranges::includes(after[node], experts));
    for (const LayerExpert& what : experts) {
      const auto held = before.find(node);
      if (held == before.end() || !held->second.contains(what)) ++missing;
    }
  }
  CHECK(missing == migration.moves.transfers.size() + migration.moves.from_checkpoint.size());
  CHECK(missing == static_cast<std::size_t>(migration.newly_assigned));
}

std::int64_t most_sent(const Migration& migration) {
  return std::ranges::max(migration.traffic, {}, &NodeTraffic::sent).sent;
}

// The rest of the model, node after node, from the survivor that has sent it least often, then has the fewest
// experts to send, then the lowest id.
std::vector<DenseTransfer> dense_one_by_one(const ReplacementCase& random, const Migration& migration) {
  std::map<std::int32_t, std::int64_t> experts;  // to send
  for (const ExpertTransfer& move : migration.moves.transfers) ++experts[move.from];
  std::map<std::int32_t, std::int64_t> sent;  // by survivor
  for (const std::int32_t node : random.live_ids) {
    if (std::ranges::count(random.placed.node_ids, node) > 0) sent[node] = 0;
  }
  std::vector<DenseTransfer> transfers;
  for (const std::int32_t to : migration.placed.node_ids) {
    if (sent.contains(to) || sent.empty()) continue;
    const auto from = std::ranges::min_element(
        sent, {}, [&](const auto& node) { return std::tuple(node.second, experts[node.first], node.first); });
    ++from->second;
    transfers.push_back({from->first, to});
  }
  return transfers;
}

// Bytes of the busiest node: all transfers, one by one.
Bytes busiest_bytes(const Migration& migration, Bytes expert, Bytes dense) {
  std::map<std::int32_t, std::int64_t> sent;
  std::map<std::int32_t, std::int64_t> received;
  for (const ExpertTransfer& move : migration.moves.transfers) {
    sent[move.from] += expert.value;
    received[move.to] += expert.value;
  }
  for (const DenseTransfer& move : migration.dense) {
    sent[move.from] += dense.value;
    received[move.to] += dense.value;
  }
  Bytes busiest{};
  for (const auto& nodes : {sent, received}) {
    for (const auto& [node, bytes] : nodes) busiest = std::max(busiest, Bytes{bytes});
  }
  return busiest;
}

void check_nodes(const ReplacementCase& random, const Migration& migration) {
  Nodes all = migration.placed.node_ids;
  all.insert(all.end(), migration.idle_ids.begin(), migration.idle_ids.end());
  CHECK(sorted(all) == random.live_ids);
  CHECK(migration.placed.layers == random.plan);
}

}  // namespace

TEST_CASE("migration: an expert is fetched from the owner that has least to send") {
  // Three nodes of 2 slots held {0,1}, {0,1}, {2,3}; node 7 joins and is to hold {0,1}. Both owners can send
  // both; each sends one. Requests of as many owners go by expert: 0 from the lowest node.
  const ClusterPlacement placed{{one_layer(4, 2, {0, 1, 0, 1, 2, 3})}, {1, 3, 5}};
  const Migration migration =
      migrate(placed, Nodes{1, 3, 5, 7}, {one_layer(4, 2, {0, 1, 0, 1, 0, 1, 2, 3})}, MappingRule::kGreedy);
  CHECK(migration.moves.transfers == std::vector<ExpertTransfer>{{0, 0, 1, 7}, {0, 1, 3, 7}});
  CHECK(migration.moves.from_checkpoint.empty());
  CHECK(migration.placed.node_ids == Nodes{1, 3, 7, 5});
  // Node 7 has joined: node 5, which has no experts to send, sends it the rest of the model.
  CHECK(migration.dense == std::vector<DenseTransfer>{{5, 7}});
  CHECK(migration.traffic ==
        std::vector<NodeTraffic>{{1, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 1, 0}, {0, 2, 0, 1}});
  CHECK(migration.newly_assigned == 2);
  CHECK(migration.idle_ids.empty());
}

TEST_CASE("migration: who can ask only one node asks first") {
  // Expert 0 is on both old nodes, 1 on node 0 only. By expert alone, 0 would go to node 0, which must
  // send 1.
  const ClusterPlacement placed{{one_layer(2, 2, {0, 1, 0, 0})}, {0, 1}};
  const Migration migration =
      migrate(placed, Nodes{0, 1, 2}, {one_layer(2, 2, {0, 1, 0, 0, 0, 1})}, MappingRule::kOptimal);
  CHECK(migration.moves.transfers == std::vector<ExpertTransfer>{{0, 0, 1, 2}, {0, 1, 0, 2}});
}

TEST_CASE("migration: an expert that no live node holds is to be restored, not sent") {
  // Node 0 died and with it expert 0; both survivors get a replica of it.
  const ClusterPlacement placed{{one_layer(3, 2, {0, 1, 1, 2, 1, 2})}, {0, 1, 2}};
  const Migration migration =
      migrate(placed, Nodes{1, 2}, {one_layer(3, 2, {0, 1, 0, 2})}, MappingRule::kGreedy);
  CHECK(migration.moves.transfers.empty());
  CHECK(migration.moves.from_checkpoint == std::vector<ExpertRestore>{{0, 0, 1}, {0, 0, 2}});
  CHECK(migration.newly_assigned == 2);
  CHECK_THROWS_AS((void)migration_time(migration, Bytes{1}, {}), InternalError);
}

TEST_CASE("migration: live nodes without a place are idle") {
  const ClusterPlacement placed{{one_layer(2, 1, {0, 1})}, {4, 6}};
  const Migration migration =
      migrate(placed, Nodes{4, 5, 6}, {one_layer(2, 1, {1, 0})}, MappingRule::kGreedy);
  CHECK(migration.placed.node_ids == Nodes{6, 4});
  CHECK(migration.idle_ids == Nodes{5});
  CHECK(migration.newly_assigned == 0);
}

TEST_CASE("migration: time is detection, regrouping, planning and the busiest node's transfers") {
  Migration migration;
  migration.moves.transfers = {{0, 0, 0, 2}, {0, 1, 0, 2}, {0, 2, 1, 2}};
  migration.traffic = node_traffic(migration.moves.transfers, 3);
  CHECK(migration.traffic == std::vector<NodeTraffic>{{2, 0}, {1, 0}, {0, 3}});
  const MigrationTiming timing{
      .detect = 12s, .regroup = 8s, .plan = 500ms, .transfer_setup = 2s, .node = BytesPerSecond{0.5e9}};
  // Node 2 receives 3 x 100 MB at 0.5 GB/s: 0.6 s.
  const MigrationTime time = migration_time(migration, Bytes{100'000'000}, timing);
  CHECK(time.detect == 12s);
  CHECK(time.regroup == 8s);
  CHECK(time.plan == 500ms);
  CHECK(time.transfer == 2600ms);
  CHECK(time.total() == 23100ms);
  // Where a node sends more than any receives, that counts: 3 at node 0.
  migration.traffic = {{3, 0}, {0, 1}, {0, 1}};
  CHECK(migration_time(migration, Bytes{100'000'000}, timing).transfer == 2600ms);
  CHECK(migration_time(Migration{}, Bytes{100'000'000}, timing).total() == 20500ms);
}

TEST_CASE("migration: the defaults stay within the 20 to 40 s of the paper") {
  const MigrationTiming timing;
  CHECK(migration_time(Migration{}, Bytes{1}, timing).total() >= 20s);
  CHECK(migration_time(Migration{}, Bytes{1}, timing).total() <= 40s);
}

TEST_CASE("migration: whatever died or joined, every node ends up with what the plan says" *
          doctest::test_suite("slow")) {
  for (std::uint64_t seed = 0; seed < testing::cases(12'000); ++seed) {
    INFO("seed " << seed);
    const ReplacementCase random = random_replacement(seed);
    const Migration greedy = migrate(random.placed, random.live_ids, random.plan, MappingRule::kGreedy);
    const Migration optimal = migrate(random.placed, random.live_ids, random.plan, MappingRule::kOptimal);
    check_nodes(random, greedy);
    check_nodes(random, optimal);
    check_moves(random, greedy);
    check_moves(random, optimal);
    CHECK(optimal.newly_assigned <= greedy.newly_assigned);
  }
}

TEST_CASE("migration: nodes that join fetch the rest of the model, and survivors take turns to send it") {
  std::size_t joined = 0;
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    INFO("seed " << seed);
    const ReplacementCase random = random_replacement(seed);
    const Migration migration = migrate(random.placed, random.live_ids, random.plan, MappingRule::kGreedy);
    CHECK(migration.dense == dense_one_by_one(random, migration));
    joined += migration.dense.size();
    if (!migration.moves.from_checkpoint.empty() || migration.newly_assigned == 0) continue;
    RandomStream bytes(seed, "migration bytes");
    const Bytes expert{static_cast<std::int64_t>(bytes.below(1'000'000))};
    const MigrationTiming timing{.node = BytesPerSecond{1e6}};
    for (const Bytes dense : {Bytes{}, Bytes{static_cast<std::int64_t>(bytes.below(10'000'000))}}) {
      CHECK(migration_time(migration, expert, timing, dense).transfer ==
            timing.transfer_setup + busiest_bytes(migration, expert, dense) / timing.node);
    }
  }
  CHECK(joined > 1'000);
}

TEST_CASE("migration: nothing moves where the plan is the old one under other names") {
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    INFO("seed " << seed);
    const ReplacementCase random = random_replacement(seed);
    const auto nodes = static_cast<std::int32_t>(random.placed.node_ids.size());
    std::vector<ExpertPlacement> reversed = random.placed.layers;
    for (ExpertPlacement& layer : reversed) {
      for (std::int32_t n = 0; n < nodes; ++n) {
        std::ranges::copy(random.placed.layers[static_cast<std::size_t>(&layer - reversed.data())].node(n),
                          layer.node(nodes - 1 - n).begin());
      }
    }
    const Nodes live = sorted(random.placed.node_ids);
    const Migration same = migrate(random.placed, live, random.placed.layers, MappingRule::kOptimal);
    const Migration renamed = migrate(random.placed, live, reversed, MappingRule::kOptimal);
    CHECK(same.newly_assigned == 0);
    CHECK(renamed.newly_assigned == 0);
    CHECK(renamed.moves.transfers.empty());
    // A second migration to where it already is moves nothing either, idle nodes and all.
    const Migration moved = migrate(random.placed, random.live_ids, random.plan, MappingRule::kGreedy);
    CHECK(migrate(moved.placed, random.live_ids, random.plan, MappingRule::kOptimal).newly_assigned == 0);
  }
}

TEST_CASE("migration: one order of nodes for all layers leaves survival as the plan has it") {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    INFO("seed " << seed);
    const ReplacementCase random = random_replacement(seed);
    const Migration migration = migrate(random.placed, random.live_ids, random.plan, MappingRule::kGreedy);
    ClusterPlacement anonymous{random.plan, {}};
    for (std::int32_t n = 0; n < random.plan.front().nodes; ++n) anonymous.node_ids.push_back(n);
    CHECK(survived_by_failures(migration.placed, sorted(migration.placed.node_ids)) ==
          survived_by_failures(anonymous, anonymous.node_ids));
  }
}

TEST_CASE("migration: the busiest sender has at most one expert more than it must") {
  std::map<std::int64_t, int> cases_of;  // by experts too many
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    INFO("seed " << seed);
    const ReplacementCase random = random_replacement(seed);
    const Migration migration = migrate(random.placed, random.live_ids, random.plan, MappingRule::kGreedy);
    const Holdings held = only_live(holdings_of(random.placed), random.live_ids);
    const std::int64_t excess = most_sent(migration) - fairest_busiest(held, migration.moves);
    ++cases_of[excess];
    CHECK(excess >= 0);
    CHECK(excess <= 1);
  }
  for (const auto& [excess, cases] : cases_of) MESSAGE(excess << " too many in " << cases << " cases");
}

TEST_CASE("migration: of many owners, too, each request takes the lowest of those with least to send") {
  RandomStream random(7, "many owners");
  const std::vector<ExpertPlacement> old(3, testing::random_placement(random, 5, 400, 2));
  const std::vector<ExpertPlacement> plan(3, testing::random_placement(random, 5, 400, 2));
  const NodeExperts held(old);
  const NodeExperts wanted(plan);
  Nodes same(400);
  std::iota(same.begin(), same.end(), 0);
  const auto has = [](const NodeExperts& nodes, std::int32_t node, std::int32_t layer, std::int32_t expert) {
    return (nodes.layer(node, layer)[0] >> expert & 1) != 0;
  };
  struct Asked {
    std::size_t owners;
    ExpertTransfer transfer;
  };
  std::vector<Asked> asked;
  const auto owners_of = [&](std::int32_t layer, std::int32_t expert) {
    std::vector<std::int32_t> owners;
    for (std::int32_t node = 0; node < 400; ++node) {
      if (has(held, node, layer, expert)) owners.push_back(node);
    }
    return owners;
  };
  for (std::int32_t layer = 0; layer < 3; ++layer) {
    for (std::int32_t expert = 0; expert < 5; ++expert) {
      for (std::int32_t to = 0; to < 400; ++to) {
        if (has(wanted, to, layer, expert) && !has(held, to, layer, expert))
          asked.push_back({owners_of(layer, expert).size(), {layer, expert, 0, to}});
      }
    }
  }
  std::ranges::stable_sort(asked, {}, &Asked::owners);
  std::vector<std::int64_t> sent(400);
  std::vector<ExpertTransfer> expected;
  for (Asked& one : asked) {
    const auto owners = owners_of(one.transfer.layer, one.transfer.expert);
    CHECK(owners.size() > 64);
    one.transfer.from =
        *std::ranges::min_element(owners, {}, [&](std::int32_t node) { return sent[index(node)]; });
    ++sent[index(one.transfer.from)];
    expected.push_back(one.transfer);
  }
  std::ranges::sort(expected);
  CHECK(plan_transfers(held, wanted, same).transfers == expected);
}

}  // namespace goodput
