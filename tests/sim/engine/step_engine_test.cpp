#include "sim/engine/step_engine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/random.h"
#include "sim/engine/timing.h"
#include "tests/reference/reference_step.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_step.h"

namespace goodput {
namespace {

using namespace std::chrono_literals;
using testing::add_random_disturbances;
using testing::add_random_flows;
using testing::random_step;
using testing::RandomStep;

constexpr SimTime kNever = StepOutcome::kNever;
constexpr BytesPerSecond kByteANanosecond{1e9};

SimTime at(std::int64_t nanoseconds) {
  return SimTime{SimDuration{nanoseconds}};
}

OpGraph build(const OpGraphSpec& spec) {
  return *OpGraph::build(spec, [](std::uint32_t op) { return std::to_string(op); });
}

std::vector<SimTime> times(const std::vector<std::int64_t>& nanoseconds) {
  std::vector<SimTime> result;
  for (const std::int64_t time : nanoseconds) result.push_back(at(time));
  return result;
}

// Ops without dependencies, each a flow of its own over the one link there is.
struct FlowsOnOneLink {
  OpGraph graph;
  StepWork work;

  explicit FlowsOnOneLink(const std::vector<std::int64_t>& sizes) : graph(build({sizes.size(), {}, {}})) {
    for (const std::int64_t size : sizes) {
      work.flow_of.push_back(static_cast<FlowId>(work.flows.size()));
      work.flows.push_back({Bytes{size}, 0ns, 0, 1});
    }
    work.durations.resize(sizes.size());
    work.routes = {0};
    work.links = {kByteANanosecond};
  }

  [[nodiscard]] StepOutcome run(Contention contention = Contention::kFairShare) const {
    return StepEngine(graph, {}).run(work, {}, contention);
  }
};

// What TimingEngine is told of the same step.
class Nanoseconds final : public OpValues {
 public:
  Nanoseconds(const StepWork& work, std::size_t lanes) : work_(work), lanes_(lanes) {}
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> scratch) const override {
    return row(work_.durations, op, scratch);
  }
  [[nodiscard]] lanes::Values delay(OpId op, std::span<double> scratch) const override {
    return work_.delays.empty() ? lanes::Values{} : row(work_.delays, op, scratch);
  }

 private:
  [[nodiscard]] lanes::Values row(const std::vector<SimDuration>& table, OpId op,
                                  std::span<double> scratch) const {
    std::fill(scratch.begin(), scratch.end(), 0.0);
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      scratch[lane] = static_cast<double>(table[op * lanes_ + lane].count());
    }
    return {scratch.data(), 0};
  }
  const StepWork& work_;
  std::size_t lanes_;
};

void require_timing_agrees(const OpGraph& graph, std::size_t lanes, const StepWork& work,
                           const StepOutcome& outcome) {
  TimingEngine timing(graph, {1, lanes}, {}, TimingEngine::Keep::kAllTimes);
  timing.propagate(Nanoseconds(work, lanes));
  REQUIRE(outcome.completed);
  for (OpId op = 0; op < graph.size(); ++op) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t i = op * lanes + lane;
      REQUIRE(static_cast<double>(outcome.starts[i].time_since_epoch().count()) == timing.starts(op)[lane]);
      REQUIRE(static_cast<double>(outcome.ends[i].time_since_epoch().count()) == timing.ends(op)[lane]);
    }
  }
}

// Rates that differ in the last bit may round an end the other way, and what waits for it.
constexpr SimDuration kEndRounding = 2ns;

bool is_near(SimTime a, SimTime b) {
  return a == b || (a != kNever && b != kNever && std::chrono::abs(a - b) <= kEndRounding);
}

void require_reference_agrees(const RandomStep& step, Contention contention) {
  StepEngine engine(step.graph, {1, step.lanes}, step.workers);
  const StepOutcome& outcome = engine.run(step.work, step.disturbances, contention);
  const reference::InstanceTimes expected = reference::run_step_by_moments(step, contention);
  std::vector<OpInstance> in_flight;
  for (std::size_t i = 0; i < outcome.ends.size(); ++i) {
    CAPTURE(i);
    REQUIRE(is_near(outcome.starts[i], expected.starts[i]));
    REQUIRE(is_near(outcome.ends[i], expected.ends[i]));
    if (outcome.starts[i] != kNever && outcome.ends[i] == kNever) {
      in_flight.push_back({static_cast<OpId>(i / step.lanes), static_cast<std::uint32_t>(i % step.lanes)});
    }
  }
  REQUIRE(outcome.in_flight == in_flight);
}

}  // namespace

// ---- Without contention and disturbances

TEST_CASE("step engine: an op starts when the last of its predecessors has ended") {
  // a(3), b(1) -> c(2)
  const OpGraph graph = build({3, {{0, 2}, {1, 2}}, {}});
  StepEngine engine(graph, {});
  const StepOutcome& outcome = engine.run({.durations = {3ns, 1ns, 2ns}});
  CHECK(outcome.completed);
  CHECK(outcome.starts == times({0, 0, 3}));
  CHECK(outcome.ends == times({3, 1, 5}));
  CHECK(outcome.end == at(5));
  CHECK(outcome.in_flight.empty());
  CHECK(outcome.events == 3);
}

TEST_CASE("step engine: replicas of a group wait for the last one and take their own time from there") {
  // One plain op a lane (1 and 7), then a group of all lanes (10 and 20): both move from 7 on.
  const OpGraph graph = build({2, {{0, 1}}, {{{1}, kReplicasTogether}}});
  StepEngine engine(graph, {1, 2});
  const StepOutcome& outcome = engine.run({.durations = {1ns, 7ns, 10ns, 20ns}});
  CHECK(outcome.starts == times({0, 0, 1, 7}));
  CHECK(outcome.ends == times({1, 7, 17, 27}));
}

TEST_CASE("step engine: a launch delay comes before the start") {
  const OpGraph graph = build({2, {{0, 1}}, {}});
  StepEngine engine(graph, {});
  const StepOutcome& outcome = engine.run({.durations = {3ns, 2ns}, .delays = {4ns, 1ns}});
  CHECK(outcome.starts == times({4, 8}));
  CHECK(outcome.ends == times({7, 10}));
}

TEST_CASE("step engine: a step without ops is over at once") {
  const OpGraph graph = build({});
  StepEngine engine(graph, {});
  const StepOutcome& outcome = engine.run({});
  CHECK(outcome.completed);
  CHECK(outcome.end == at(0));
}

TEST_CASE("step engine: random graphs take what the longest path says, to the nanosecond") {
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    CAPTURE(seed);
    const RandomStep step = random_step(seed);
    StepEngine engine(step.graph, {1, step.lanes}, step.workers);
    const StepOutcome& outcome = engine.run(step.work);
    require_timing_agrees(step.graph, step.lanes, step.work, outcome);
    REQUIRE(outcome.events == step.work.durations.size());
    REQUIRE(outcome.end == *std::max_element(outcome.ends.begin(), outcome.ends.end()));
  }
}

TEST_CASE("step engine: disturbances that change nothing and contention without flows move nothing") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    const RandomStep step = random_step(seed);
    StepEngine engine(step.graph, {1, step.lanes}, step.workers);
    // Worker 0 keeps its rate, and is lost long after the step.
    const Disturbances disturbances{{{at(20), 0, 1.0}, {at(30), 0, 1.0}}, {{SimTime{1h}, 0}}};
    require_timing_agrees(step.graph, step.lanes, step.work,
                          engine.run(step.work, disturbances, Contention::kFairShare));
  }
}

TEST_CASE("step engine: without contention a flow is a fixed duration") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    RandomStep step = random_step(seed);
    RandomStream random(seed, "flows");
    add_random_flows(step, random);
    StepEngine engine(step.graph, {1, step.lanes}, step.workers);
    const StepOutcome outcome = engine.run(step.work);
    StepWork fixed = step.work;
    for (std::size_t i = 0; i < fixed.durations.size(); ++i) {
      if (fixed.flow_of[i] == kNoFlow) continue;
      const Flow& flow = fixed.flows[fixed.flow_of[i]];
      BytesPerSecond least = fixed.links[fixed.routes[flow.first_link]];
      for (std::uint32_t hop = 0; hop < flow.link_count; ++hop)
        least = std::min(least, fixed.links[fixed.routes[flow.first_link + hop]]);
      fixed.durations[i] = flow.latency + flow.size / least;
    }
    require_timing_agrees(step.graph, step.lanes, fixed, outcome);
  }
}

TEST_CASE("step engine: flows that share no link take under contention what they take without") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    RandomStep step = random_step(seed);
    RandomStream random(seed, "flows");
    add_random_flows(step, random);
    step.work.routes.clear();
    step.work.links.clear();
    for (Flow& flow : step.work.flows) {
      flow.size = flow.size * 1'000'003;
      flow.first_link = static_cast<std::uint32_t>(step.work.links.size());
      flow.link_count = 1;
      step.work.routes.push_back(flow.first_link);
      step.work.links.push_back({random.uniform(1e9, 400e9)});
    }
    StepEngine engine(step.graph, {1, step.lanes}, step.workers);
    const StepOutcome alone = engine.run(step.work);
    const StepOutcome& shared = engine.run(step.work, {}, Contention::kFairShare);
    REQUIRE(shared.starts == alone.starts);
    REQUIRE(shared.ends == alone.ends);
  }
}

// ---- Flows

TEST_CASE("step engine: a flow alone takes its size over the least capacity, rounded once") {
  // 1000 bytes at 3 GB/s: 333.3 ns; behind 7 ns of latency 340.3
  FlowsOnOneLink given({1000});
  given.work.links = {{50e9}, {3e9}};
  given.work.routes = {0, 1};
  given.work.flows[0] = {Bytes{1000}, 7ns, 0, 2};
  CHECK(given.run(Contention::kNone).end == at(340));
  CHECK(given.run(Contention::kFairShare).end == at(340));
}

TEST_CASE("step engine: two flows on one link take twice as long") {
  const StepOutcome outcome = FlowsOnOneLink({1000, 1000}).run();
  CHECK(outcome.ends == times({2000, 2000}));
  CHECK(outcome.events == 2);
}

TEST_CASE("step engine: of unequal flows on one link the short one ends first and the long one speeds up") {
  // Halves until the 600 are through at 1200, when 400 of the 1000 are left: 1600, the sum.
  CHECK(FlowsOnOneLink({1000, 600}).run().ends == times({1600, 1200}));
}

TEST_CASE("step engine: n equal flows on one link end together, at n times as long") {
  for (std::int64_t n = 1; n <= 50; ++n) {
    const auto count = static_cast<std::size_t>(n);
    const StepOutcome outcome = FlowsOnOneLink(std::vector<std::int64_t>(count, 12'345)).run();
    CHECK(outcome.ends == std::vector<SimTime>(count, at(12'345 * n)));
  }
}

TEST_CASE("step engine: a link is never idle: the last of many flows ends when all bytes are through") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "busy link");
    std::vector<std::int64_t> sizes(1 + random.below(100));
    for (std::int64_t& size : sizes) size = 1 + static_cast<std::int64_t>(random.below(1'000'000));
    const std::int64_t all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    // Every end is rounded by half a nanosecond at most, and hands at most that on to the next.
    CHECK(std::chrono::abs(FlowsOnOneLink(sizes).run().end - at(all)) <=
          SimDuration{static_cast<std::int64_t>(sizes.size())});
  }
}

TEST_CASE("step engine: a flow joined halfway moves its other half at half the rate") {
  // a (1000 bytes) from 0; an op of 500 ns, then b (1000 bytes). From 500 on both have half the link: a has
  // 500 left and ends at 1500; b has moved 500 by then and has the link alone for the rest: 2000.
  const OpGraph graph = build({3, {{1, 2}}, {}});
  StepWork work{.durations = {0ns, 500ns, 0ns}, .flow_of = {0, kNoFlow, 1}};
  work.flows = {{Bytes{1000}, 0ns, 0, 1}, {Bytes{1000}, 0ns, 0, 1}};
  work.routes = {0};
  work.links = {kByteANanosecond};
  StepEngine engine(graph, {});
  CHECK(engine.run(work, {}, Contention::kFairShare).ends == times({1500, 500, 2000}));
  CHECK(engine.run(work, {}, Contention::kNone).ends == times({1000, 500, 1500}));
}

TEST_CASE("step engine: a flow takes no bandwidth while its latency lasts") {
  FlowsOnOneLink given({1000, 1000});
  given.work.flows[1].latency = 1000ns;
  CHECK(given.run().ends == times({1000, 2000}));
}

TEST_CASE("step engine: a flow of no bytes takes its latency, needs no link and slows nobody") {
  FlowsOnOneLink given({1000, 0, 0});
  given.work.flows[1] = {Bytes{0}, 30ns};
  CHECK(given.run(Contention::kFairShare).ends == times({1000, 30, 0}));
  CHECK(given.run(Contention::kNone).ends == times({1000, 30, 0}));
}

TEST_CASE("step engine: a flow that gets its link back with less than a nanosecond to go still ends") {
  // a: 2000 bytes at 2 bytes a ns, due at 1000. At 999 b joins with 1 byte, and both go at half the rate: b
  // ends at 1000, when a, now due at 1001, has 1 byte left. Half a nanosecond more is 1000, to the even one.
  const OpGraph graph = build({3, {{1, 2}}, {}});
  StepWork work{.durations = {0ns, 999ns, 0ns}, .flow_of = {0, kNoFlow, 1}};
  work.flows = {{Bytes{2000}, 0ns, 0, 1}, {Bytes{1}, 0ns, 0, 1}};
  work.routes = {0};
  work.links = {{2e9}};
  StepEngine engine(graph, {});
  CHECK(engine.run(work, {}, Contention::kFairShare).ends == times({1000, 999, 1000}));
}

TEST_CASE("step engine: a long flow over two links leaves the wider one to its neighbour") {
  // x over both links, y over the first, z over the second, of 1 and 2 bytes a ns: rates 1/2, 1/2, 3/2.
  // z (1500) ends at 1000. y (1000) and x (1000) end at 2000.
  FlowsOnOneLink given({1000, 1000, 1500});
  given.work.links = {{1e9}, {2e9}};
  given.work.routes = {0, 1};
  given.work.flows[0].link_count = 2;
  given.work.flows[2].first_link = 1;
  CHECK(given.run().ends == times({2000, 2000, 1000}));
}

TEST_CASE("step engine: a send and its receive have one flow, from when both are there") {
  // a(50) -> send, b(80) -> recv; 1000 bytes from 80 on
  const OpGraph graph = build({4, {{0, 2}, {1, 3}}, {{{2, 3}, kReplicasApart}}});
  StepWork work{.durations = {50ns, 80ns, 0ns, 0ns}, .flow_of = {kNoFlow, kNoFlow, 0, 0}};
  work.flows = {{Bytes{1000}, 0ns, 0, 1}};
  work.routes = {0};
  work.links = {kByteANanosecond};
  StepEngine engine(graph, {});
  const StepOutcome& outcome = engine.run(work, {}, Contention::kFairShare);
  CHECK(outcome.starts == times({0, 0, 50, 80}));
  CHECK(outcome.ends == times({50, 80, 1080, 1080}));
  CHECK(outcome.events == 3);  // the flow ends two ops at once
}

TEST_CASE("step engine: a collective over the links of all lanes is as slow as its most crowded link") {
  // Op 0: a collective of two lanes over links 0 and 1, 1000 bytes. Op 1: lane 1 also sends 300 bytes over
  // link 1. Half rates until 600; the collective has 700 left and ends at 1300.
  const OpGraph graph = build({2, {}, {{{0}, kReplicasTogether}}});
  StepWork work{.durations = std::vector<SimDuration>(4), .flow_of = {0, 0, kNoFlow, 1}};
  work.flows = {{Bytes{1000}, 0ns, 0, 2}, {Bytes{300}, 0ns, 1, 1}};
  work.routes = {0, 1};
  work.links = {kByteANanosecond, kByteANanosecond};
  StepEngine engine(graph, {1, 2});
  CHECK(engine.run(work, {}, Contention::kFairShare).ends == times({1300, 1300, 0, 600}));
}

TEST_CASE("step engine: members of a group may each have a flow of their own") {
  // Both lanes move from 20 on, over one link: 400 bytes each until 820 for lane 0; lane 1 has 600 left.
  const OpGraph graph = build({2, {{0, 1}}, {{{1}, kReplicasTogether}}});
  StepWork work{.durations = {10ns, 20ns, 0ns, 0ns}, .flow_of = {kNoFlow, kNoFlow, 0, 1}};
  work.flows = {{Bytes{400}, 0ns, 0, 1}, {Bytes{1000}, 0ns, 0, 1}};
  work.routes = {0};
  work.links = {kByteANanosecond};
  StepEngine engine(graph, {1, 2});
  CHECK(engine.run(work, {}, Contention::kFairShare).ends == times({10, 20, 820, 1420}));
}

// ---- Stragglers

TEST_CASE("step engine: a worker at half speed from halfway needs as long again for the rest") {
  // 1000 ns of work: 500 done at 500, 500 left at half speed: 1500
  const OpGraph graph = build({1, {}, {}});
  StepEngine engine(graph, {});
  const StepOutcome& outcome = engine.run({.durations = {1000ns}}, {{{at(500), 0, 0.5}}, {}});
  CHECK(outcome.ends == times({1500}));
  CHECK(outcome.events == 2);
}

TEST_CASE("step engine: a stalled worker goes on where it was") {
  // Stalled from 300 to 700: 1400
  const OpGraph graph = build({1, {}, {}});
  StepEngine engine(graph, {});
  CHECK(engine.run({.durations = {1000ns}}, {{{at(300), 0, 0}, {at(700), 0, 1}}, {}}).end == at(1400));
}

TEST_CASE("step engine: work adds up over any number of speeds") {
  // 100 at 1, then 200 ns at 1/4 (50), 100 ns at 2 (200), the last 650 at 1: 100 + 200 + 100 + 650
  const OpGraph graph = build({1, {}, {}});
  StepEngine engine(graph, {});
  CHECK(
      engine.run({.durations = {1000ns}}, {{{at(100), 0, 0.25}, {at(300), 0, 2}, {at(400), 0, 1}}, {}}).end ==
      at(1050));
}

TEST_CASE("step engine: an op that starts on a slow worker is slow from its start") {
  // Lane 1 is slow from the beginning and lane 0 is not: 10 + 20 against 20 + 40
  const OpGraph graph = build({2, {{0, 1}}, {}});
  StepEngine engine(graph, {1, 2});
  const StepOutcome& outcome = engine.run({.durations = {10ns, 10ns, 20ns, 20ns}}, {{{at(0), 1, 0.5}}, {}});
  CHECK(outcome.ends == times({10, 20, 30, 60}));
}

TEST_CASE("step engine: a change at the moment an op ends is too late for it") {
  const OpGraph graph = build({2, {{0, 1}}, {}});
  StepEngine engine(graph, {});
  CHECK(engine.run({.durations = {100ns, 100ns}}, {{{at(100), 0, 0.5}}, {}}).ends == times({100, 300}));
}

TEST_CASE("step engine: transfers do not slow down with their worker") {
  const OpGraph graph = build({2, {}, {{{0}, kReplicasTogether}}});
  StepWork work{.durations = {100ns, 0ns}, .flow_of = {kNoFlow, 0}};
  work.flows = {{Bytes{1000}, 0ns, 0, 1}};
  work.routes = {0};
  work.links = {kByteANanosecond};
  StepEngine engine(graph, {});
  CHECK(engine.run(work, {{{at(0), 0, 0.1}}, {}}, Contention::kFairShare).ends == times({100, 1000}));
}

TEST_CASE("step engine: a worker that stays stalled leaves the step unfinished") {
  const OpGraph graph = build({3, {{0, 2}}, {}});
  StepEngine engine(graph, {}, {.of_op = {0, 1, 0}, .per_lane = 2});
  const StepOutcome& outcome = engine.run({.durations = {100ns, 200ns, 1ns}}, {{{at(40), 0, 0}}, {}});
  CHECK_FALSE(outcome.completed);
  CHECK(outcome.ends == std::vector<SimTime>{kNever, at(200), kNever});
  CHECK(outcome.in_flight == std::vector<OpInstance>{{0, 0}});
}

// ---- Lost workers

TEST_CASE("step engine: a stage lost in mid-op stops what waits for it and nothing else") {
  // Two stages, two micro-batches: f0 -> (send, recv) -> g0, and the same for 1; f1 after f0, g1 after g0.
  //   stage 0: f0 0..100, f1 100..200           messages of 10: 100..110 and 200..210
  //   stage 1: g0 110..210, g1 from 210; lost at 150, in the middle of g0
  // f1 still ends at 200; its send starts and waits for ever, since the receive never starts.
  enum : std::uint32_t { kF0, kF1, kSend0, kRecv0, kSend1, kRecv1, kG0, kG1, kCount };
  const OpGraph graph = build(
      {kCount,
       {{kF0, kF1}, {kF0, kSend0}, {kF1, kSend1}, {kRecv0, kG0}, {kRecv1, kG1}, {kG0, kG1}, {kG0, kRecv1}},
       {{{kSend0, kRecv0}, kReplicasApart}, {{kSend1, kRecv1}, kReplicasApart}}});
  StepWork work;
  Workers workers{.of_op = {}, .per_lane = 2};
  std::vector<OpId> id_of(kCount);
  for (OpId op = 0; op < graph.size(); ++op) {
    const std::uint32_t caller = graph.caller_index()[op];
    const bool is_message = caller >= kSend0 && caller <= kRecv1;
    const bool first_stage = caller == kF0 || caller == kF1 || caller == kSend0 || caller == kSend1;
    id_of[caller] = op;
    work.durations.push_back(is_message ? 10ns : 100ns);
    workers.of_op.push_back(first_stage ? 0 : 1);
  }
  StepEngine engine(graph, {}, workers);
  CHECK(engine.run(work).end == at(320));  // g0 until 210, the second message until 220, g1
  const StepOutcome& outcome = engine.run(work, {{}, {{at(150), 1}}});
  CHECK_FALSE(outcome.completed);
  CHECK(outcome.end == at(200));
  CHECK(outcome.ends[id_of[kF1]] == at(200));
  CHECK(outcome.ends[id_of[kRecv0]] == at(110));
  CHECK(outcome.starts[id_of[kG0]] == at(110));
  CHECK(outcome.ends[id_of[kG0]] == kNever);
  CHECK(outcome.starts[id_of[kRecv1]] == kNever);
  CHECK(outcome.starts[id_of[kG1]] == kNever);
  std::vector<OpInstance> in_flight = {{id_of[kSend1], 0}, {id_of[kG0], 0}};
  std::sort(in_flight.begin(), in_flight.end(), [](auto a, auto b) { return a.op < b.op; });
  CHECK(outcome.in_flight == in_flight);
  CHECK(outcome.events == 5);  // f0, send 0, receive 0, the loss, f1
}

TEST_CASE("step engine: a lost replica stops its collective in all lanes, but not their own work") {
  // Compute, collective over two lanes, compute; beside it an op of its own. Lane 1 is lost at 50.
  const OpGraph graph = build({4, {{0, 1}, {1, 2}}, {{{1}, kReplicasTogether}}});
  // Order of evaluation: 0, 3 (own), 1 (collective), 2
  StepEngine engine(graph, {1, 2});
  const StepOutcome& outcome =
      engine.run({.durations = {10ns, 60ns, 500ns, 40ns, 1ns, 1ns, 1ns, 1ns}}, {{}, {{at(50), 1}}});
  CHECK(outcome.ends ==
        std::vector<SimTime>{at(10), kNever, at(500), at(40), kNever, kNever, kNever, kNever});
  CHECK(outcome.end == at(500));
  CHECK(outcome.in_flight == std::vector<OpInstance>{{0, 1}, {2, 0}});
}

TEST_CASE("step engine: a transfer under way ends on neither side if one is lost") {
  const OpGraph graph = build({2, {}, {{{0, 1}, kReplicasApart}}});
  StepEngine engine(graph, {}, {.of_op = {0, 1}, .per_lane = 2});
  const StepOutcome& outcome = engine.run({.durations = {100ns, 100ns}}, {{}, {{at(50), 0}}});
  CHECK(outcome.ends == std::vector<SimTime>{kNever, kNever});
  CHECK(outcome.in_flight == std::vector<OpInstance>{{0, 0}, {1, 0}});
}

TEST_CASE("step engine: a group that met too late for a lost member does not complete") {
  // The member on worker 0 is there at 0 and lost at 50; the other arrives at 80.
  const OpGraph graph = build({3, {{0, 2}}, {{{1, 2}, kReplicasApart}}});
  // Order of evaluation: 0, then the group
  StepEngine engine(graph, {}, {.of_op = {1, 0, 1}, .per_lane = 2});
  const StepOutcome& outcome = engine.run({.durations = {80ns, 1ns, 1ns}}, {{}, {{at(50), 0}}});
  CHECK(outcome.starts == times({0, 0, 80}));
  CHECK(outcome.ends == std::vector<SimTime>{at(80), kNever, kNever});
}

TEST_CASE("step engine: what ends at the moment of a loss has ended") {
  const OpGraph graph = build({2, {{0, 1}}, {}});
  StepEngine engine(graph, {});
  const StepOutcome& outcome = engine.run({.durations = {100ns, 100ns}}, {{}, {{at(100), 0}}});
  CHECK(outcome.ends == std::vector<SimTime>{at(100), kNever});
  CHECK(outcome.in_flight == std::vector<OpInstance>{{1, 0}});
}

TEST_CASE("step engine: the flows of a lost worker leave their bandwidth to the others") {
  // Halves of the link until 500: 250 each. The one left has 750 and the whole link: 1250.
  const FlowsOnOneLink given({1000, 1000});
  StepEngine engine(given.graph, {}, {.of_op = {0, 1}, .per_lane = 2});
  const StepOutcome& outcome = engine.run(given.work, {{}, {{at(500), 1}}}, Contention::kFairShare);
  CHECK(outcome.ends == std::vector<SimTime>{at(1250), kNever});
  CHECK(outcome.in_flight == std::vector<OpInstance>{{1, 0}});
}

TEST_CASE("step engine: a flow lost during its latency never takes bandwidth") {
  FlowsOnOneLink given({1000, 1000});
  given.work.flows[1].latency = 100ns;
  StepEngine engine(given.graph, {}, {.of_op = {0, 1}, .per_lane = 2});
  const StepOutcome& outcome = engine.run(given.work, {{}, {{at(50), 1}}}, Contention::kFairShare);
  CHECK(outcome.ends == std::vector<SimTime>{at(1000), kNever});
}

TEST_CASE("step engine: a worker can be lost once, and its rate no longer matters") {
  const OpGraph graph = build({2, {}, {}});
  StepEngine engine(graph, {}, {.of_op = {0, 1}, .per_lane = 2});
  const StepOutcome& outcome =
      engine.run({.durations = {100ns, 300ns}}, {{{at(70), 0, 2}}, {{at(50), 0}, {at(60), 0}}});
  CHECK(outcome.ends == std::vector<SimTime>{kNever, at(300)});
}

// ---- Everything at once

TEST_CASE("step engine: random steps with flows on shared links agree with the definition" *
          doctest::test_suite("slow")) {
  for (std::uint64_t seed = 1; seed <= testing::cases(600); ++seed) {
    CAPTURE(seed);
    RandomStep step = random_step(seed);
    RandomStream random(seed, "flows");
    add_random_flows(step, random);
    require_reference_agrees(step, Contention::kFairShare);
  }
}

TEST_CASE("step engine: random steps with stragglers and losses agree with the definition" *
          doctest::test_suite("slow")) {
  for (std::uint64_t seed = 1; seed <= testing::cases(600); ++seed) {
    CAPTURE(seed);
    RandomStep step = random_step(seed);
    RandomStream random(seed, "disturbances");
    if (seed % 3 != 0) add_random_flows(step, random);
    add_random_disturbances(step, random);
    require_reference_agrees(step, seed % 2 == 0 ? Contention::kFairShare : Contention::kNone);
  }
}

TEST_CASE("step engine: a second run is like a first one, whatever the first was") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    RandomStep step = random_step(seed);
    const StepWork plain = step.work;
    RandomStream random(seed, "again");
    add_random_flows(step, random);
    add_random_disturbances(step, random);
    StepEngine used(step.graph, {1, step.lanes}, step.workers);
    (void)used.run(step.work, step.disturbances, Contention::kFairShare);
    StepEngine fresh(step.graph, {1, step.lanes}, step.workers);
    const StepOutcome first = used.run(plain);
    REQUIRE(first.ends == fresh.run(plain).ends);
    const StepOutcome& again = used.run(step.work, step.disturbances, Contention::kFairShare);
    StepEngine other(step.graph, {1, step.lanes}, step.workers);
    const StepOutcome& expected = other.run(step.work, step.disturbances, Contention::kFairShare);
    REQUIRE(again.starts == expected.starts);
    REQUIRE(again.ends == expected.ends);
    REQUIRE(again.in_flight == expected.in_flight);
    REQUIRE(again.events == expected.events);
  }
}

TEST_CASE("step engine: work that is not of the step is refused") {
  const OpGraph graph = build({2, {}, {}});
  StepEngine engine(graph, {});
  const StepWork work{.durations = {1ns, 1ns}};
  CHECK_THROWS_AS(StepEngine(graph, {2, 1}), InternalError);
  CHECK_THROWS_AS(StepEngine(graph, {}, {.of_op = {0}}), InternalError);
  CHECK_THROWS_AS((void)engine.run({.durations = {1ns}}), InternalError);
  CHECK_THROWS_AS((void)engine.run({.durations = {1ns, -1ns}}), InternalError);
  CHECK_THROWS_AS((void)engine.run({.durations = {1ns, 1ns}, .delays = {-1ns, 0ns}}), InternalError);
  CHECK_THROWS_AS((void)engine.run(work, {{{at(-1), 0, 1}}, {}}), InternalError);
  CHECK_THROWS_AS((void)engine.run(work, {{{at(0), 0, -1}}, {}}), InternalError);
  CHECK_THROWS_AS((void)engine.run(work, {{{at(0), 1, 1}}, {}}), InternalError);
  CHECK_THROWS_AS((void)engine.run(work, {{}, {{at(0), 1}}}), InternalError);
  // 1 ns at this rate is longer than time is counted.
  CHECK_THROWS_AS((void)engine.run(work, {{{at(0), 0, 1e-30}}, {}}), InternalError);
  CHECK(engine.run(work).completed);
}

TEST_CASE("step engine: a flow that cannot be is refused") {
  const auto refuses = [](const auto& change) {
    FlowsOnOneLink given({1000, 1000});
    change(given.work);
    CHECK_THROWS_AS((void)given.run(), InternalError);
  };
  refuses([](StepWork& work) { work.flow_of = {0, 0}; });  // of two ops that do not meet
  refuses([](StepWork& work) { work.flow_of = {0, 2}; });
  refuses([](StepWork& work) { work.flows[0].link_count = 0; });
  refuses([](StepWork& work) { work.flows[0].link_count = 2; });
  refuses([](StepWork& work) { work.flows[0].size = Bytes{-1}; });
  refuses([](StepWork& work) { work.flows[0].latency = -1ns; });
  refuses([](StepWork& work) { work.links = {{0}}; });
  refuses([](StepWork& work) { work.routes = {1}; });
  refuses([](StepWork& work) {
    work.routes = {0, 0};
    work.flows[0].link_count = 2;
  });
}

}  // namespace goodput
