#include "models/policy/node_choice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "sim/base/errors.h"
#include "sim/base/random.h"
#include "tests/support/scripted_failures.h"

namespace goodput {
namespace {

using testing::joined;
using testing::lost;
using testing::slowed;

constexpr SimDuration kNow = std::chrono::seconds{1};

// Nodes 0 .. nodes-1, some of them slow.
Membership members_of(NodeId nodes, const std::vector<std::pair<NodeId, double>>& slow = {}) {
  Membership members;
  NodeChange unused;
  for (NodeId node = 0; node < nodes; ++node) members.apply(joined(kNow, node), unused);
  for (const auto& [node, speed] : slow) members.apply(slowed(kNow, node, speed), unused);
  return members;
}

std::vector<NodeId> chosen(SlowNodeAction action, const Membership& members, std::int32_t count,
                           const std::vector<NodeId>& kept = {}) {
  std::vector<NodeId> nodes;
  NodeChoice({action, 0.8}).choose(members, count, kept, nodes);
  return nodes;
}

using Nodes = std::vector<NodeId>;

// The same, obviously: all that there are, by rank, and the first of them.
Nodes chosen_by_sorting(SlowNodeAction action, const Membership& members, std::int32_t count,
                        const Nodes& kept) {
  Nodes nodes(members.nodes().begin(), members.nodes().end());
  const auto rank = [&](NodeId node) {
    const bool is_slow = action != SlowNodeAction::kKeep && members.speed(node) < 0.8;
    const bool is_kept = std::find(kept.begin(), kept.end(), node) != kept.end();
    return std::tuple(is_slow, !is_kept, node);
  };
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return rank(a) < rank(b); });
  nodes.resize(static_cast<std::size_t>(count));
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

// Some ids below `end`, ascending.
Nodes any_nodes(RandomStream& random, NodeId end, double share) {
  Nodes nodes;
  for (NodeId node = 0; node < end; ++node) {
    if (random.uniform() < share) nodes.push_back(node);
  }
  return nodes;
}

Membership any_members(RandomStream& random, NodeId end) {
  Membership members;
  NodeChange unused;
  for (const NodeId node : any_nodes(random, end, random.uniform(0.1, 1)))
    members.apply(joined(kNow, node), unused);
  const Nodes slow = any_nodes(random, end, random.below(3) == 0 ? 0 : random.uniform(0, 0.7));
  for (const NodeId node : slow) {
    if (members.contains(node)) members.apply(slowed(kNow, node, random.uniform(0.6, 1)), unused);
  }
  return members;
}

}  // namespace

TEST_CASE("node choice: the first ones, but those that hold something before all others") {
  const Membership members = members_of(6);
  CHECK(chosen(SlowNodeAction::kKeep, members, 3) == Nodes{0, 1, 2});
  CHECK(chosen(SlowNodeAction::kKeep, members, 3, {2, 4, 5}) == Nodes{2, 4, 5});
  CHECK(chosen(SlowNodeAction::kKeep, members, 3, {4}) == Nodes{0, 1, 4});
  CHECK(chosen(SlowNodeAction::kKeep, members, 3, {4, 9}) == Nodes{0, 1, 4});  // 9 is gone
  CHECK(chosen(SlowNodeAction::kKeep, members, 6, {4}) == Nodes{0, 1, 2, 3, 4, 5});
  CHECK(chosen(SlowNodeAction::kKeep, members, 0).empty());
}

TEST_CASE("node choice: slow nodes are taken as they come, last of all, or not at all") {
  const Membership members = members_of(6, {{0, 0.5}, {2, 0.79}, {3, 0.8}});
  CHECK(chosen(SlowNodeAction::kKeep, members, 3) == Nodes{0, 1, 2});
  CHECK(chosen(SlowNodeAction::kSwap, members, 3) == Nodes{1, 3, 4});
  CHECK(chosen(SlowNodeAction::kSwap, members, 5, {0, 2}) == Nodes{0, 1, 3, 4, 5});
  CHECK(chosen(SlowNodeAction::kSwap, members, 5, {2}) == Nodes{1, 2, 3, 4, 5});  // either is slow
  CHECK(chosen(SlowNodeAction::kEvict, members, 4) == Nodes{1, 3, 4, 5});
  CHECK(NodeChoice({SlowNodeAction::kKeep, 0.8}).available(members) == 6);
  CHECK(NodeChoice({SlowNodeAction::kSwap, 0.8}).available(members) == 6);
  CHECK(NodeChoice({SlowNodeAction::kEvict, 0.8}).available(members) == 4);
  CHECK_THROWS_AS(chosen(SlowNodeAction::kEvict, members, 5), InternalError);
  CHECK_FALSE(NodeChoice({SlowNodeAction::kEvict, 0.8}).may_use(members, 2));
  CHECK(NodeChoice({SlowNodeAction::kEvict, 0.8}).may_use(members, 3));
  CHECK_FALSE(NodeChoice({SlowNodeAction::kKeep, 0.8}).may_use(members, 7));
}

TEST_CASE("node choice: takes whom sorting all nodes by rank would take") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "node choice");
    const auto end = static_cast<NodeId>(1 + random.below(random.below(8) == 0 ? 500 : 20));
    const Membership members = any_members(random, end);
    const Nodes kept = any_nodes(random, end + 3, random.uniform());
    for (const auto action : {SlowNodeAction::kKeep, SlowNodeAction::kEvict, SlowNodeAction::kSwap}) {
      const std::int32_t most = NodeChoice({action, 0.8}).available(members);
      const auto count = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(most) + 1));
      REQUIRE(chosen(action, members, count, kept) == chosen_by_sorting(action, members, count, kept));
      REQUIRE(chosen(action, members, most, kept) == chosen_by_sorting(action, members, most, kept));
    }
  }
}

TEST_CASE("node choice: what a change means depends on who is used") {
  NodeChange change;
  change.lost = {3};
  change.joined = {3, 9};
  change.changed_speed = {1};
  const Nodes used = {1, 2, 3};
  ChangeImpact impact = impact_of(change, used);
  CHECK(impact.loses);
  CHECK(impact.slows);
  CHECK(impact.offers);
  change.joined.clear();
  CHECK_FALSE(impact_of(change, used).offers);
  impact = impact_of(change, Nodes{2});
  CHECK_FALSE(impact.loses);
  CHECK_FALSE(impact.slows);
  CHECK(impact.offers);  // node 1 may be well again
}

TEST_CASE("node choice: who waits says for what") {
  CHECK(nodes_needed(4, false) == "needs 4 nodes");
  CHECK(nodes_needed(4, true) == "needs 4 nodes that are not slow");
}

}  // namespace goodput
