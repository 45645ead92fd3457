#include "sim/nodes/membership.h"

#include <doctest/doctest.h>

#include <map>

#include "sim/base/errors.h"
#include "sim/base/random.h"
#include "tests/support/scripted_failures.h"

namespace goodput {
namespace {

using std::chrono::seconds;
using testing::joined;
using testing::lost;
using testing::NodeEvents;
using testing::slowed;
using Ids = std::vector<NodeId>;

struct Cluster {
  Membership members{};
  NodeChange change{};

  void apply(const NodeEvents& events) {
    for (const NodeEvent& event : events) members.apply(event, change);
  }
  Ids ids() const { return {members.nodes().begin(), members.nodes().end()}; }
};

// The same, node by node.
struct Record {
  std::map<NodeId, double> speeds;
  NodeTime node_time = 0;
  SimTime now{};

  void apply(const NodeEvent& event) {
    node_time += NodeTime{(event.time - now).count()} * static_cast<std::int64_t>(speeds.size());
    now = event.time;
    if (event.kind == NodeEvent::Kind::kRemove) {
      speeds.erase(event.node);
    } else {
      speeds[event.node] = event.kind == NodeEvent::Kind::kAdd ? 1 : event.speed;
    }
  }
};

NodeEvent random_event(RandomStream& random, SimTime now, const Membership& members) {
  const auto node = static_cast<NodeId>(random.below(12));
  NodeEvent event{now, NodeEvent::Kind::kAdd, node, 1};
  if (!members.contains(node)) return event;
  event.kind = random.below(2) == 0 ? NodeEvent::Kind::kRemove : NodeEvent::Kind::kSpeed;
  if (event.kind == NodeEvent::Kind::kSpeed) event.speed = random.below(2) == 0 ? 1 : 0.5;
  return event;
}

}  // namespace

TEST_CASE("membership: nodes are listed by id, in whatever order they come") {
  Cluster cluster;
  cluster.apply({joined(seconds{0}, 5), joined(seconds{0}, 2), joined(seconds{1}, 9), joined(seconds{1}, 3)});
  CHECK(cluster.ids() == Ids{2, 3, 5, 9});
  CHECK(cluster.members.count() == 4);
  CHECK(cluster.members.contains(9));
  CHECK_FALSE(cluster.members.contains(4));
  CHECK(cluster.change.joined == Ids{2, 3, 5, 9});
}

TEST_CASE("membership: a node that is lost and comes back at once is in both lists, at full speed") {
  Cluster cluster;
  cluster.apply({joined(seconds{0}, 0), joined(seconds{0}, 1), slowed(seconds{1}, 1, 0.5)});
  cluster.change.clear();
  cluster.apply({lost(seconds{2}, 1), joined(seconds{2}, 1)});
  CHECK(cluster.change.lost == Ids{1});
  CHECK(cluster.change.joined == Ids{1});
  CHECK(cluster.members.speed(1) == 1);
}

TEST_CASE("membership: only nodes that stayed are said to have changed speed, and once") {
  Cluster cluster;
  cluster.apply({joined(seconds{0}, 0), joined(seconds{0}, 1)});
  cluster.change.clear();
  cluster.apply({joined(seconds{2}, 2), slowed(seconds{2}, 2, 0.5), slowed(seconds{2}, 1, 0.5),
                 slowed(seconds{2}, 0, 0.75), slowed(seconds{2}, 1, 0.25)});
  CHECK(cluster.change.joined == Ids{2});
  CHECK(cluster.change.changed_speed == Ids{0, 1});
  CHECK(cluster.members.speed(2) == 0.5);
  CHECK(cluster.members.speed(1) == 0.25);
}

TEST_CASE("membership: the slowest of some nodes") {
  Cluster cluster;
  cluster.apply({joined(seconds{0}, 0), joined(seconds{0}, 1), joined(seconds{0}, 2)});
  CHECK(cluster.members.slowest() == 1);
  cluster.apply({slowed(seconds{1}, 0, 0.5), slowed(seconds{1}, 2, 0.75)});
  CHECK(cluster.members.slowest() == 0.5);
  CHECK(cluster.members.slowest(Ids{1, 2}) == 0.75);
  CHECK(cluster.members.slowest({}) == 1);
  cluster.apply({lost(seconds{2}, 0), slowed(seconds{3}, 2, 1)});
  CHECK(cluster.members.slowest() == 1);
}

TEST_CASE("membership: node time is that of the nodes that came and went") {
  Cluster cluster;
  cluster.apply(
      {joined(seconds{0}, 0), joined(seconds{10}, 1), lost(seconds{15}, 0), joined(seconds{40}, 0)});
  // Node 0 for 15 s and from 40 on, node 1 from 10 on.
  CHECK(cluster.members.node_time(SimTime{seconds{50}}) == NodeTime{1'000'000'000} * (15 + 40 + 10));
}

TEST_CASE("membership: a thousand nodes for 250 years do not overflow") {
  Membership members;
  NodeChange change;
  for (NodeId node = 0; node < 1000; ++node) members.apply(joined(seconds{0}, node), change);
  const SimTime end{std::chrono::years{250}};
  CHECK(members.node_time(end) == NodeTime{1000} * end.time_since_epoch().count());
}

TEST_CASE("membership: events that do not fit are refused") {
  Cluster cluster;
  cluster.apply({joined(seconds{0}, 0)});
  CHECK_THROWS_AS(cluster.apply({joined(seconds{1}, 0)}), InternalError);
  CHECK_THROWS_AS(cluster.apply({lost(seconds{1}, 1)}), InternalError);
  CHECK_THROWS_AS(cluster.apply({slowed(seconds{1}, 1, 0.5)}), InternalError);
  CHECK_THROWS_AS(cluster.apply({slowed(seconds{1}, 0, 0)}), InternalError);
  CHECK_THROWS_AS((void)cluster.members.speed(7), InternalError);
}

TEST_CASE("membership: agrees with a record kept node by node") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "membership");
    Cluster cluster;
    Record record;
    SimTime now{};
    for (int i = 0; i < 100; ++i) {
      now += seconds{random.below(3)};
      const NodeEvent event = random_event(random, now, cluster.members);
      cluster.apply({event});
      record.apply(event);
      REQUIRE(cluster.ids().size() == record.speeds.size());
      double slowest = 1;
      for (const auto& [node, speed] : record.speeds) {
        REQUIRE(cluster.members.speed(node) == speed);
        slowest = std::min(slowest, speed);
      }
      REQUIRE(cluster.members.slowest() == slowest);
      REQUIRE(cluster.members.node_time(now) == record.node_time);
    }
  }
}

}  // namespace goodput
