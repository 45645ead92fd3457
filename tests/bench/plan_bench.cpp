// A layer-level step of DeepSeek-V3 on 1024 GPUs: 206,202 ops on each of 64 expert-parallel ranks, whose
// loads differ, and on one rank where they do not.
//   build/<ranks>   plan to graph and costs
//   time/<ranks>    one evaluation by longest paths
//   events/<ranks>  one by the event-driven engine
// Ops are counted once a rank.
#include <benchmark/benchmark.h>

#include <memory>

#include "models/cost/cost_models.h"
#include "models/step/planned_step.h"
#include "sim/engine/step_engine.h"

namespace goodput {
namespace {

TrainingPlan deepseek(std::int64_t ranks) {
  auto plan = read_training_plan(GOODPUT_CONFIGS "/plans/deepseek-v3-1024.json");
  GOODPUT_CHECK(plan.has_value(), "the shipped plan can be read");
  plan->expert_load.skew = ranks > 1 ? 0.5 : 0;
  return *std::move(plan);
}

PlannedStep build(const TrainingPlan& plan) {
  const auto cost = make_cost_model(cost_inputs(plan));
  GOODPUT_CHECK(cost.has_value(), "the shipped plan has a cost model");
  auto step = build_planned_step(plan, **cost, Granularity::kLayers, 0);
  GOODPUT_CHECK(step.has_value(), "the shipped plan can be built");
  return *std::move(step);
}

void count_ops(benchmark::State& state, const PlannedStep& step) {
  const auto ops = static_cast<double>(step.ops.size() * step.lanes.lanes());
  state.counters["ops"] = ops;
  state.counters["ops/s"] = benchmark::Counter(ops, benchmark::Counter::kIsIterationInvariantRate);
}

void build_step(benchmark::State& state) {
  const TrainingPlan plan = deepseek(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(build(plan).ops.size());
  count_ops(state, build(plan));
}

void time_step(benchmark::State& state) {
  const PlannedStep step = build(deepseek(state.range(0)));
  TimingEngine timing(step.graph, step.lanes, {}, TimingEngine::Keep::kStepTimes);
  for (auto _ : state) {
    timing.propagate(PlannedValues(step));
    benchmark::DoNotOptimize(timing.spans());
  }
  count_ops(state, step);
}

void run_events(benchmark::State& state) {
  const PlannedStep step = build(deepseek(state.range(0)));
  const StepWork work = step_work(step);
  StepEngine engine(step.graph, step.lanes);
  for (auto _ : state) benchmark::DoNotOptimize(engine.run(work).end);
  count_ops(state, step);
}

BENCHMARK(build_step)->Name("build")->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(time_step)->Name("time")->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(run_events)->Name("events")->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace goodput

BENCHMARK_MAIN();
