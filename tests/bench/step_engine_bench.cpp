// Events per second of the StepEngine, and what bounds it. An event is the end of an op or flow, a rate
// change or a loss; an op that ends with its flow is part of that event.
//   queue/<pending>        takes the first event and puts one back, the queue staying as full as it is
//   plain/<lanes>          a 1F1B step with fixed durations
//   watched/<lanes>        the same with a straggler in every lane: durations may change under way
//   shared_links/<lanes>/<replicas per link>  the same with messages and collectives as flows over network
//   links;
//                          also `slowdown`, the mean time of a message over what it takes alone
// The step: 8 stages, 32 micro-batches, an all-gather in front and two reduce-scatters behind per stage;
// compute times differ by some per cent, so that replicas are not in step.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/event_queue.h"
#include "sim/base/random.h"
#include "sim/engine/step_engine.h"

namespace goodput {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kStages = 8;
constexpr std::uint32_t kMicroBatches = 32;
constexpr SimDuration kForward = 10ms;
constexpr Bytes kActivations{Bytes{64} * (1 << 20)};  // 1.3 ms at 50 GB/s, alone
constexpr Bytes kGradients{Bytes{1} * (1 << 30)};
constexpr BytesPerSecond kLink{50e9};
constexpr SimDuration kLatency = 10us;

enum Kind : std::uint32_t { kCompute, kMessage, kCollective };

// A 1F1B step of one replica: ops in the order they are added.
struct Pipeline {
  struct Op {
    Kind kind;
    std::uint32_t stage;
    std::uint32_t peer = 0;  // the stage that a message comes from
    SimDuration duration{};
  };
  OpGraphSpec spec;
  std::vector<Op> ops;

  std::uint32_t add(const Op& op) {
    ops.push_back(op);
    spec.op_count = ops.size();
    return static_cast<std::uint32_t>(ops.size() - 1);
  }
  void order(std::uint32_t first, std::uint32_t then) { spec.edges.emplace_back(first, then); }

  // A send on one stage and a receive on the other.
  void add_message(std::uint32_t from_op, std::uint32_t to_op) {
    const std::uint32_t from = ops[from_op].stage;
    const std::uint32_t to = ops[to_op].stage;
    const std::uint32_t send = add({kMessage, from, from});
    const std::uint32_t receive = add({kMessage, to, from});
    spec.groups.push_back({{send, receive}, kReplicasApart});
    order(from_op, send);
    order(receive, to_op);
  }
  std::uint32_t add_collective(std::uint32_t stage) {
    const std::uint32_t op = add({kCollective, stage});
    spec.groups.push_back({{op}, kReplicasTogether});
    return op;
  }
};

Pipeline one_f_one_b() {
  Pipeline pipeline;
  std::vector<std::vector<std::uint32_t>> forward(kStages);
  std::vector<std::vector<std::uint32_t>> backward(kStages);
  for (std::uint32_t stage = 0; stage < kStages; ++stage) {
    std::uint32_t last = pipeline.add_collective(stage);
    const std::uint32_t warmup = kStages - 1 - stage;
    const auto compute = [&](std::vector<std::uint32_t>& of_stage, SimDuration duration) {
      of_stage.push_back(pipeline.add({kCompute, stage, 0, duration}));
      pipeline.order(last, of_stage.back());
      last = of_stage.back();
    };
    for (std::uint32_t pass = 0; pass < kMicroBatches + warmup; ++pass) {
      if (pass < kMicroBatches) compute(forward[stage], kForward);
      if (pass >= warmup) compute(backward[stage], 2 * kForward);
    }
    for (int bucket = 0; bucket < 2; ++bucket) {
      const std::uint32_t reduce = pipeline.add_collective(stage);
      pipeline.order(last, reduce);
      last = reduce;
    }
  }
  for (std::uint32_t stage = 0; stage + 1 < kStages; ++stage) {
    for (std::uint32_t mb = 0; mb < kMicroBatches; ++mb) {
      pipeline.add_message(forward[stage][mb], forward[stage + 1][mb]);
      pipeline.add_message(backward[stage + 1][mb], backward[stage][mb]);
    }
  }
  return pipeline;
}

struct Step {
  Pipeline pipeline = one_f_one_b();
  OpGraph graph = *OpGraph::build(pipeline.spec, [](std::uint32_t op) { return std::to_string(op); });
  std::uint32_t lanes;
  std::uint32_t replicas_per_link;  // of one stage: a node
  Workers workers{{}, kStages};
  StepWork work;

  explicit Step(std::int64_t lane_count, std::int64_t per_link = 1)
      : lanes(static_cast<std::uint32_t>(lane_count)),
        replicas_per_link(static_cast<std::uint32_t>(per_link)) {
    RandomStream random(1, "bench");
    for (OpId op = 0; op < graph.size(); ++op) {
      const Pipeline::Op& of = op_of(op);
      workers.of_op.push_back(of.stage);
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        work.durations.push_back(of.kind == kCompute
                                     ? from_seconds(to_seconds(of.duration) * random.uniform(0.95, 1.05))
                                 : of.kind == kMessage ? kLatency + kActivations / kLink
                                                       : kLatency + kGradients / kLink);
      }
    }
  }

  [[nodiscard]] const Pipeline::Op& op_of(OpId op) const { return pipeline.ops[graph.caller_index()[op]]; }

  // Every node has a link out and a link in.
  [[nodiscard]] std::uint32_t nodes_per_stage() const {
    return (lanes + replicas_per_link - 1) / replicas_per_link;
  }
  [[nodiscard]] LinkId link_out(std::uint32_t stage, std::uint32_t node) const {
    return 2 * (stage * nodes_per_stage() + node);
  }
  [[nodiscard]] LinkId link_in(std::uint32_t stage, std::uint32_t node) const {
    return link_out(stage, node) + 1;
  }

  void add_flows() {
    work.links.assign(2 * std::size_t{kStages} * nodes_per_stage(), kLink);
    work.flow_of.assign(work.durations.size(), kNoFlow);
    for (const OpGraph::Unit& unit : graph.units()) {
      const Pipeline::Op& op = op_of(unit.first);
      if (op.kind == kCollective) add_collective(unit);
      for (std::uint32_t lane = 0; op.kind == kMessage && lane < lanes; ++lane) add_message(unit, lane);
    }
  }

  void add_flow(Bytes size, const std::vector<LinkId>& route) {
    work.flows.push_back({size, kLatency, static_cast<std::uint32_t>(work.routes.size()),
                          static_cast<std::uint32_t>(route.size())});
    work.routes.insert(work.routes.end(), route.begin(), route.end());
  }

  void add_message(const OpGraph::Unit& unit, std::uint32_t lane) {
    const std::uint32_t from = op_of(unit.first).peer;
    const std::uint32_t a = op_of(unit.first).stage;
    const std::uint32_t b = op_of(unit.first + 1).stage;
    const std::uint32_t node = lane / replicas_per_link;
    for (OpId op = unit.first; op < unit.first + 2; ++op) {
      work.flow_of[op * lanes + lane] = static_cast<FlowId>(work.flows.size());
    }
    add_flow(kActivations, {link_out(from, node), link_in(from == a ? b : a, node)});
  }

  // A ring over all replicas of a stage.
  void add_collective(const OpGraph::Unit& unit) {
    std::vector<LinkId> route;
    for (std::uint32_t node = 0; node < nodes_per_stage(); ++node) {
      route.push_back(link_out(op_of(unit.first).stage, node));
      route.push_back(link_in(op_of(unit.first).stage, node));
    }
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      work.flow_of[unit.first * lanes + lane] = static_cast<FlowId>(work.flows.size());
    }
    add_flow(kGradients, route);
  }
};

void run(benchmark::State& state, const Step& step, const Disturbances& disturbances, Contention contention) {
  StepEngine engine(step.graph, {1, step.lanes}, step.workers);
  std::uint64_t events = 0;
  for (auto _ : state) {
    const StepOutcome& outcome = engine.run(step.work, disturbances, contention);
    if (!outcome.completed) state.SkipWithError("the step is unfinished");
    events += outcome.events;
  }
  const auto ops = static_cast<double>(step.graph.size() * step.lanes);
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
  state.counters["op_lanes/s"] = benchmark::Counter(ops, benchmark::Counter::kIsIterationInvariantRate);
}

void plain(benchmark::State& state) {
  run(state, Step(state.range(0)), {}, Contention::kNone);
}
BENCHMARK(plain)->Arg(1)->Arg(8)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);

void watched(benchmark::State& state) {
  const Step step(state.range(0));
  Disturbances disturbances;
  for (std::uint32_t lane = 0; lane < step.lanes; ++lane) {
    const WorkerId worker = lane * kStages + lane % kStages;
    for (int change = 0; change < 10; ++change) {
      disturbances.rates.push_back({SimTime{change * 50ms}, worker, change % 2 == 0 ? 0.7 : 1.0});
    }
  }
  run(state, step, disturbances, Contention::kNone);
}
BENCHMARK(watched)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond);

double mean_slowdown(const Step& step, const StepOutcome& outcome) {
  SimDuration taken{};
  std::int64_t messages = 0;
  for (const OpGraph::Unit& unit : step.graph.units()) {
    if (step.op_of(unit.first).kind != kMessage) continue;
    for (std::size_t lane = 0; lane < step.lanes; ++lane, ++messages) {
      const std::size_t send = std::size_t{unit.first} * step.lanes + lane;
      const std::size_t receive = send + step.lanes;
      taken += outcome.ends[send] - std::max(outcome.starts[send], outcome.starts[receive]);
    }
  }
  return to_seconds(taken) / to_seconds((kLatency + kActivations / kLink) * messages);
}

void shared_links(benchmark::State& state) {
  Step step(state.range(0), state.range(1));
  step.add_flows();
  run(state, step, {}, Contention::kFairShare);
  StepEngine engine(step.graph, {1, step.lanes}, step.workers);
  state.counters["slowdown"] = mean_slowdown(step, engine.run(step.work, {}, Contention::kFairShare));
}
BENCHMARK(shared_links)
    ->Args({8, 4})
    ->Args({16, 4})
    ->Args({64, 4})
    ->Args({64, 8})
    ->Args({64, 64})
    ->Args({512, 4})
    ->Unit(benchmark::kMillisecond);

void queue(benchmark::State& state) {
  enum class Priority : std::uint8_t { kOnly };
  EventQueue<Priority, std::uint64_t> pending;
  RandomStream random(1, "queue");
  std::vector<SimDuration> ahead(1 << 16);
  for (SimDuration& duration : ahead) duration = SimDuration{random.below(1'000'000)};
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    pending.push(SimTime{ahead[static_cast<std::size_t>(i) % ahead.size()]}, Priority::kOnly, 0);
  }
  std::size_t next = 0;
  for (auto _ : state) {
    const auto event = pending.pop();
    pending.push(event.time + ahead[next++ % ahead.size()], Priority::kOnly, event.payload);
  }
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(queue)->Arg(100)->Arg(1000)->Arg(100'000);

}  // namespace
}  // namespace goodput

BENCHMARK_MAIN();
