#include "sim/ops/op_graph.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/base/random.h"

namespace goodput {
namespace {

std::string letter(std::uint32_t op) {
  return std::string(1, static_cast<char>('a' + op));
}

OpGraph build(const OpGraphSpec& spec) {
  Result<OpGraph> graph = OpGraph::build(spec, letter);
  REQUIRE(graph);
  return *std::move(graph);
}

std::string graph_error(const OpGraphSpec& spec) {
  const Result<OpGraph> graph = OpGraph::build(spec, letter);
  REQUIRE_FALSE(graph);
  return graph.error().message();
}

}  // namespace

TEST_CASE("op graph: ops are laid out by level, then by the caller's number") {
  // c -> a, d -> a, a -> b: levels c d | a | b
  const OpGraph graph = build({4, {{2, 0}, {3, 0}, {0, 1}}, {}});
  CHECK(std::ranges::equal(graph.caller_index(), std::vector<std::uint32_t>{2, 3, 0, 1}));
  CHECK(std::ranges::equal(graph.predecessors(2), std::vector<OpId>{0, 1}));
  CHECK(std::ranges::equal(graph.predecessors(3), std::vector<OpId>{2}));
  CHECK(graph.predecessors(0).empty());
}

TEST_CASE("op graph: the members of a group stand together, behind the predecessors of all of them") {
  // a -> b -> c and d, groups {c, d}: d waits for b's level although nothing precedes it
  const OpGraph graph = build({4, {{0, 1}, {1, 2}}, {{{2, 3}, kReplicasApart}}});
  REQUIRE(graph.units().size() == 3);
  const OpGraph::Unit& group = graph.units()[2];
  CHECK(group.first == 2);
  CHECK(group.count == 2);
  CHECK(group.is_group);
  CHECK(graph.is_grouped(3));
  CHECK_FALSE(graph.is_grouped(0));
}

TEST_CASE("op graph: a cycle is refused and named") {
  CHECK(graph_error({3, {{0, 1}, {1, 2}, {2, 0}}, {}}) == "the dependencies form a cycle: a -> b -> c -> a");
}

TEST_CASE("op graph: an op that waits for itself is a cycle") {
  CHECK(graph_error({2, {{0, 1}, {1, 1}}, {}}) == "the dependencies form a cycle: b -> b");
}

TEST_CASE("op graph: a member that waits for another of its group is a cycle, the group counting as one") {
  CHECK(graph_error({2, {{0, 1}}, {{{0, 1}, kReplicasApart}}}) ==
        "the dependencies form a cycle: a+b -> a+b");
}

TEST_CASE("op graph: a cycle through two groups is found although no single op is on it") {
  // groups {a, b} and {c, d}; b -> c and d -> a: neither can start
  CHECK(graph_error({4, {{1, 2}, {3, 0}}, {{{0, 1}, kReplicasApart}, {{2, 3}, kReplicasApart}}}) ==
        "the dependencies form a cycle: a+b -> c+d -> a+b");
}

TEST_CASE("op graph: a long cycle is shortened in the message") {
  OpGraphSpec ring{12, {}, {}};
  for (std::uint32_t i = 0; i < 12; ++i) ring.edges.emplace_back(i, (i + 1) % 12);
  CHECK(graph_error(ring) ==
        "the dependencies form a cycle: a -> b -> c -> d -> e -> f -> g -> h -> (4 more) -> a");
}

TEST_CASE("op graph: repeated edges count once and an empty graph is a graph") {
  const OpGraph graph = build({2, {{0, 1}, {0, 1}}, {}});
  CHECK(graph.predecessors(1).size() == 1);
  CHECK(build({0, {}, {}}).size() == 0);
}

TEST_CASE("op graph: an op in two groups is our bug") {
  CHECK_THROWS_AS((void)OpGraph::build({1, {}, {{{0}, kReplicasApart}, {{0}, kReplicasApart}}}, letter),
                  InternalError);
}

TEST_CASE("op graph: a chain of 200000 ops builds without recursion trouble") {
  OpGraphSpec chain{200000, {}, {}};
  for (std::uint32_t i = 1; i < chain.op_count; ++i) chain.edges.emplace_back(i - 1, i);
  CHECK(build(chain).units().size() == chain.op_count);
}

TEST_CASE("op graph: in random graphs every predecessor belongs to an earlier unit") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "op graph");
    OpGraphSpec spec{2 + random.below(40), {}, {}};
    // Edges go from lower to higher numbers, groups join neighbours without an edge inside: always acyclic.
    for (std::uint32_t op = 0; op + 1 < spec.op_count; op += 2) {
      if (random.uniform() < 0.3) spec.groups.push_back({{op, op + 1}, kReplicasTogether});
    }
    for (std::uint32_t to = 2; to < spec.op_count; ++to) {
      for (std::uint64_t n = random.below(3); n > 0; --n) {
        spec.edges.emplace_back(static_cast<std::uint32_t>(random.below(to / 2 * 2)), to);
      }
    }
    const OpGraph graph = build(spec);
    for (OpId op = 0; op < graph.size(); ++op) {
      for (const OpId before : graph.predecessors(op)) REQUIRE(graph.unit_of()[before] < graph.unit_of()[op]);
    }
  }
}

TEST_CASE("op graph: it fits as many replicas as its partitions have") {
  OpGraphSpec spec{2, {}, {{{0}, 2}, {{1}, 3}}};
  spec.partitions.push_back(ReplicaPartition::of_blocks(std::vector<std::uint32_t>{0, 0, 1, 1}));
  spec.partitions.push_back(ReplicaPartition::of_blocks(std::vector<std::uint32_t>{5, 5, 5, 5}));
  const OpGraph graph = build(spec);
  CHECK(graph.fits(4));
  CHECK(graph.fits(1));
  CHECK_FALSE(graph.fits(3));
  CHECK(graph.units()[0].partition == 2);
  CHECK(graph.units()[1].partition == kReplicasTogether);  // one block of all
  CHECK_THROWS_AS((void)graph.with_partitions({ReplicaPartition::apart(), ReplicaPartition::together()}),
                  InternalError);
  spec.groups[0].partition = 4;
  CHECK_THROWS_AS((void)build(spec), InternalError);
}

}  // namespace goodput
