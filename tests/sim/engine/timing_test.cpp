// release-too: vectorised loops, exact to the last bit.
#include "sim/engine/timing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "sim/base/random.h"
#include "tests/support/op_slack.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_graph.h"

namespace goodput {
namespace {

// Values by op and lane, in the caller's numbering.
class Table final : public OpValues {
 public:
  Table(const OpGraph& graph, LaneShape shape, std::vector<std::vector<double>> values,
        std::vector<std::vector<double>> delays = {})
      : values_(rows(graph, shape, values)), delays_(rows(graph, shape, delays)) {}
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> /*scratch*/) const override {
    return {values_[op].data(), 0};
  }
  [[nodiscard]] lanes::Values delay(OpId op, std::span<double> /*scratch*/) const override {
    return delays_.empty() ? lanes::Values{} : lanes::Values{delays_[op].data(), 0};
  }

 private:
  static std::vector<std::vector<double>> rows(const OpGraph& graph, LaneShape shape,
                                               const std::vector<std::vector<double>>& by_caller) {
    std::vector<std::vector<double>> result;
    for (const std::uint32_t op : graph.caller_index()) {
      if (by_caller.empty()) return {};
      result.push_back(by_caller[op]);
      result.back().resize(shape.stride());
    }
    return result;
  }
  std::vector<std::vector<double>> values_;
  std::vector<std::vector<double>> delays_;
};

std::string number(std::uint32_t op) {
  return std::to_string(op);
}

OpGraph graph_of(const OpGraphSpec& spec) {
  return *OpGraph::build(spec, number);
}

std::vector<OpId> all_ops(const OpGraph& graph) {
  std::vector<OpId> ops(graph.size());
  std::iota(ops.begin(), ops.end(), 0U);
  return ops;
}

using Keep = TimingEngine::Keep;

// The definition, by memoised recursion: ends by (op in the caller's numbering, lane).
struct ReferenceTiming {
  const OpGraphSpec& spec;
  LaneShape shape;
  const std::vector<std::vector<double>>& values;
  const std::vector<std::vector<double>>& delays;
  const std::vector<std::vector<std::uint32_t>>& block_of;  // by partition and replica
  std::map<std::pair<std::uint32_t, std::size_t>, double> starts, ends;

  double start(std::uint32_t op, std::size_t lane) {
    if (const auto known = starts.find({op, lane}); known != starts.end()) return known->second;
    double latest = 0;
    bool first = true;
    for (const auto& [from, to] : spec.edges) {
      if (to != op) continue;
      latest = first ? end(from, lane) : std::max(latest, end(from, lane));
      first = false;
    }
    return starts[{op, lane}] = latest + delays[op][lane];
  }
  double end(std::uint32_t op, std::size_t lane) {
    if (const auto known = ends.find({op, lane}); known != ends.end()) return known->second;
    double begin = start(op, lane);
    for (const auto& group : spec.groups) {
      if (std::find(group.members.begin(), group.members.end(), op) == group.members.end()) continue;
      for (const std::uint32_t member : group.members) {
        for (std::size_t other = 0; other < shape.lanes(); ++other) {
          const auto& block = block_of[group.partition];
          const bool meets = other % shape.steps == lane % shape.steps &&
                             block[other / shape.steps] == block[lane / shape.steps];
          if (meets) begin = std::max(begin, start(member, other));
        }
      }
    }
    return ends[{op, lane}] = begin + values[op][lane];
  }
};

struct RandomCase {
  OpGraphSpec spec;
  LaneShape shape;
  std::vector<std::vector<double>> values;
  std::vector<std::vector<double>> delays;
  std::vector<std::vector<std::uint32_t>> block_of;  // by partition and replica
};

RandomCase random_case(std::uint64_t seed) {
  RandomStream random(seed, "timing");
  RandomCase result;
  result.spec.op_count = 1 + random.below(30);
  result.shape = {1 + random.below(5), 1 + random.below(5)};
  const auto ops = static_cast<std::uint32_t>(result.spec.op_count);
  const std::size_t replicas = result.shape.replicas;
  result.block_of = {std::vector<std::uint32_t>(replicas), std::vector<std::uint32_t>(replicas, 0)};
  std::iota(result.block_of[kReplicasApart].begin(), result.block_of[kReplicasApart].end(), 0U);
  while (result.block_of.size() < 5) {
    result.block_of.push_back(testing::random_blocks(replicas, random));
    result.spec.partitions.push_back(ReplicaPartition::of_blocks(result.block_of.back()));
  }
  // Ops come in blocks of three; groups lie inside a block, edges between blocks.
  for (std::uint32_t op = 0; op + 2 < ops; op += 3) {
    const double draw = random.uniform();
    const auto partition = static_cast<PartitionId>(random.below(result.block_of.size()));
    if (draw < 0.3)
      result.spec.groups.push_back({{op, op + 1}, partition});
    else if (draw < 0.5)
      result.spec.groups.push_back({{op, op + 1, op + 2}, partition});
    else if (draw < 0.7)
      result.spec.groups.push_back({{op + 1}, partition});
  }
  for (std::uint32_t to = 3; to < ops; ++to) {
    for (std::uint64_t n = random.below(5); n > 0; --n) {
      result.spec.edges.emplace_back(static_cast<std::uint32_t>(random.below(to / 3 * 3)), to);
    }
  }
  for (std::uint32_t op = 0; op < ops; ++op) {
    result.values.emplace_back();
    result.delays.emplace_back();
    for (std::size_t lane = 0; lane < result.shape.lanes(); ++lane) {
      // Whole numbers: sums are exact. Some transfers and delays are negative.
      result.values.back().push_back(static_cast<double>(random.below(1000)) - 10);
      result.delays.back().push_back(random.uniform() < 0.3 ? static_cast<double>(random.below(50)) - 10 : 0);
    }
  }
  return result;
}

}  // namespace

TEST_CASE("timing: an op on the critical path moves the step one for one, one with slack does not") {
  // a(3) -> c(2)   critical: 5
  // b(1) -> c      slack of b: 2
  const OpGraph graph = graph_of({3, {{0, 2}, {1, 2}}, {}});
  const LaneShape shape{2, 1};  // the second step has a one longer
  const Table values(graph, shape, {{3, 4}, {1, 1}, {2, 2}});
  TimingEngine timing(graph, shape, all_ops(graph), Keep::kAllTimes);
  timing.propagate(values);
  CHECK(timing.finish_times() == std::vector<double>{5, 6});
  const std::vector<double> slack = testing::compute_slack(graph, timing, values);
  CHECK(slack[0 * shape.stride()] == 0);
  CHECK(slack[1 * shape.stride()] == 2);
  CHECK(slack[1 * shape.stride() + 1] == 3);
  CHECK(slack[2 * shape.stride()] == 0);
}

TEST_CASE("timing: peers end a transfer after the later one has started") {
  // a(5), b(2); send after a, recv after b; transfers 1 and 3: both start to move at 5
  const OpGraph graph = graph_of({4, {{0, 2}, {1, 3}}, {{{2, 3}, kReplicasApart}}});
  TimingEngine timing(graph, {1, 1}, all_ops(graph), Keep::kAllTimes);
  timing.propagate(Table(graph, {1, 1}, {{5}, {2}, {1}, {3}}));
  CHECK(timing.ends(2).front() == 6);
  CHECK(timing.ends(3).front() == 8);
  CHECK(timing.starts(3).front() == 2);
}

TEST_CASE("timing: replicas of a step wait for each other, steps do not") {
  // one synchronised op behind a plain one; two steps of two replicas
  const OpGraph graph = graph_of({2, {{0, 1}}, {{{1}, kReplicasTogether}}});
  const LaneShape shape{2, 2};
  TimingEngine timing(graph, shape, all_ops(graph), Keep::kAllTimes);
  // lanes: step 0 replica 0, step 1 replica 0, step 0 replica 1, step 1 replica 1
  timing.propagate(Table(graph, shape, {{1, 2, 7, 1}, {10, 10, 20, 20}}));
  const auto ends = timing.ends(1);
  CHECK(ends[shape.lane(0, 0)] == 17);
  CHECK(ends[shape.lane(0, 1)] == 27);
  CHECK(ends[shape.lane(1, 0)] == 12);
  CHECK(ends[shape.lane(1, 1)] == 22);
}

TEST_CASE("timing: a start may be negative and the span counts from it") {
  // a ends at -2; b starts there: span from -2 to 3
  const OpGraph graph = graph_of({2, {{0, 1}}, {}});
  TimingEngine timing(graph, {1, 1}, all_ops(graph), Keep::kStepTimes);
  timing.propagate(Table(graph, {1, 1}, {{-2}, {5}}));
  CHECK(timing.finish_times() == std::vector<double>{3});
  CHECK(timing.spans() == std::vector<double>{5});
}

TEST_CASE("timing: the critical path runs through the replica that was late") {
  // a -> s (synchronised) -> b; replica 1 has the long a
  const OpGraph graph = graph_of({3, {{0, 1}, {1, 2}}, {{{1}, kReplicasTogether}}});
  const LaneShape shape{1, 2};
  const Table values(graph, shape, {{1, 9}, {2, 2}, {5, 4}});
  TimingEngine timing(graph, shape, all_ops(graph), Keep::kAllTimes);
  timing.propagate(values);
  const auto path = timing.critical_path(0, values);
  REQUIRE(path.size() == 3);
  CHECK(path[0].op == 0);
  CHECK(path[0].lane == 1);
  CHECK(path[0].length == 9);
  CHECK(path[1].lane == 0);
  CHECK(path[2].lane == 0);
  CHECK(path[2].length == 5);
}

TEST_CASE("timing: random graphs agree exactly with the definition, in every mode" *
          doctest::test_suite("slow")) {
  for (std::uint64_t seed = 1; seed <= testing::cases(2000); ++seed) {
    CAPTURE(seed);
    const RandomCase given = random_case(seed);
    const OpGraph graph = graph_of(given.spec);
    const Table values(graph, given.shape, given.values, given.delays);
    ReferenceTiming reference{given.spec, given.shape, given.values, given.delays, given.block_of, {}, {}};
    const std::vector<OpId> finish = {static_cast<OpId>(seed % graph.size())};
    TimingEngine all(graph, given.shape, finish, Keep::kAllTimes);
    TimingEngine fast(graph, given.shape, finish, Keep::kStepTimes);
    TimingEngine fastest(graph, given.shape, finish, Keep::kFinishTimes);
    all.propagate(values);
    fast.propagate(values);
    fastest.propagate(values);
    std::vector<double> finish_times(given.shape.steps, -1e300);
    std::vector<double> first(given.shape.steps, 1e300);
    std::vector<double> last(given.shape.steps, -1e300);
    for (OpId op = 0; op < graph.size(); ++op) {
      for (std::size_t lane = 0; lane < given.shape.lanes(); ++lane) {
        const double end = reference.end(graph.caller_index()[op], lane);
        const double start = reference.start(graph.caller_index()[op], lane);
        REQUIRE(all.ends(op)[lane] == end);
        REQUIRE(all.starts(op)[lane] == start);
        const std::size_t step = lane % given.shape.steps;
        first[step] = std::min(first[step], start);
        last[step] = std::max(last[step], end);
        if (op == finish.front()) finish_times[step] = std::max(finish_times[step], end);
      }
    }
    for (std::size_t step = 0; step < given.shape.steps; ++step) last[step] -= first[step];
    REQUIRE(all.spans() == last);
    REQUIRE(fast.spans() == last);
    REQUIRE(all.finish_times() == finish_times);
    REQUIRE(fast.finish_times() == finish_times);
    REQUIRE(fastest.finish_times() == finish_times);
  }
}

TEST_CASE("timing: the critical path adds up to the end of the step and has no slack") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    const RandomCase given = random_case(seed);
    const OpGraph graph = graph_of(given.spec);
    const Table values(graph, given.shape, given.values, given.delays);
    TimingEngine timing(graph, given.shape, all_ops(graph), Keep::kAllTimes);
    timing.propagate(values);
    const std::vector<double> slack = testing::compute_slack(graph, timing, values);
    for (std::size_t step = 0; step < given.shape.steps; ++step) {
      const auto path = timing.critical_path(step, values);
      double length = 0;
      for (const auto& element : path) {
        length += element.length;
        REQUIRE(slack[element.op * given.shape.stride() + element.lane] == 0);
      }
      REQUIRE(length == timing.finish_times()[step]);
    }
  }
}

TEST_CASE("timing: an op may grow by its slack and no more") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    RandomCase given = random_case(seed);
    const OpGraph graph = graph_of(given.spec);
    TimingEngine timing(graph, given.shape, all_ops(graph), Keep::kAllTimes);
    const Table values(graph, given.shape, given.values, given.delays);
    timing.propagate(values);
    const std::vector<double> before = timing.finish_times();
    const auto op = static_cast<OpId>(seed % graph.size());
    const std::size_t lane = seed % given.shape.lanes();
    const double slack = testing::compute_slack(graph, timing, values)[op * given.shape.stride() + lane];
    double& value = given.values[graph.caller_index()[op]][lane];
    value += slack;
    timing.propagate(Table(graph, given.shape, given.values, given.delays));
    REQUIRE(timing.finish_times() == before);
    value += 1;
    timing.propagate(Table(graph, given.shape, given.values, given.delays));
    REQUIRE(timing.finish_times()[lane % given.shape.steps] == before[lane % given.shape.steps] + 1);
  }
}

TEST_CASE("timing: two engines over one graph do not disturb each other") {
  const OpGraph graph = graph_of({2, {{0, 1}}, {}});
  TimingEngine one(graph, {1, 1}, all_ops(graph), Keep::kStepTimes);
  TimingEngine other(graph, {1, 1}, all_ops(graph), Keep::kStepTimes);
  one.propagate(Table(graph, {1, 1}, {{1}, {1}}));
  other.propagate(Table(graph, {1, 1}, {{5}, {5}}));
  CHECK(one.finish_times() == std::vector<double>{2});
  CHECK(other.finish_times() == std::vector<double>{10});
}

TEST_CASE("timing: a graph runs only in as many replicas as its partitions have") {
  OpGraphSpec spec{1, {}, {{{0}, 2}}};
  spec.partitions.push_back(ReplicaPartition::of_blocks(std::vector<std::uint32_t>{0, 0, 1, 1}));
  const OpGraph graph = graph_of(spec);
  CHECK_NOTHROW(TimingEngine(graph, {2, 4}, all_ops(graph), Keep::kStepTimes));
  CHECK_THROWS_AS(TimingEngine(graph, {2, 3}, all_ops(graph), Keep::kStepTimes), InternalError);
}

TEST_CASE("timing: what was not kept cannot be read") {
  const OpGraph graph = graph_of({1, {}, {}});
  TimingEngine timing(graph, {1, 1}, all_ops(graph), Keep::kStepTimes);
  const Table values(graph, {1, 1}, {{1}});
  timing.propagate(values);
  TimingEngine fastest(graph, {1, 1}, all_ops(graph), Keep::kFinishTimes);
  fastest.propagate(values);
  CHECK_THROWS_AS((void)fastest.spans(), InternalError);
  CHECK_THROWS_AS((void)timing.starts(0), InternalError);
  CHECK_THROWS_AS((void)timing.ends(0), InternalError);
  CHECK_THROWS_AS((void)timing.critical_path(0, values), InternalError);
  CHECK_THROWS_AS(TimingEngine(graph, {0, 1}, all_ops(graph), Keep::kStepTimes), InternalError);
}

}  // namespace goodput
