// The JSON of a plan, and what plan-step does with the plans it accepts: costs, both graphs, the report.
#include <cmath>

#include "models/cost/cost_models.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "tests/fuzz/fuzz_target.h"

namespace goodput::fuzz {
namespace {

// Keeps an input below a second; check_training_plan() draws its own line much further out.
bool is_small(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  const double positions = static_cast<double>(parallel.pp) * parallel.vpp;
  const double ranks = plan.expert_load.skew > 0 ? parallel.ep : 1;
  return static_cast<double>(parallel.micro_batches()) * (plan.model.layers + positions) * ranks < 2000;
}

void plan_step(TrainingPlan plan) {
  plan.parallel = settled(plan.parallel, plan.cluster.gpus_per_node);
  if (!check_training_plan(plan) || !is_small(plan)) return;
  const auto cost = make_cost_model(cost_inputs(plan));
  if (!cost) return;
  for (const Granularity granularity : {Granularity::kOps, Granularity::kLayers}) {
    const auto step = build_planned_step(plan, **cost, granularity, 1);
    if (!step) return;
    const StepReport report = report_step(plan, *step);
    for (const double value :
         {report.tokens_per_second, report.mfu, report.hfu, report.bubble, to_seconds(report.step)}) {
      GOODPUT_CHECK(std::isfinite(value), "a report has a number that is none");
    }
    GOODPUT_CHECK(report.step > SimDuration{}, "a step takes no time");
    for (const StageMemory& stage : report.memory.stages)
      GOODPUT_CHECK(stage.total() > Bytes{}, "a stage holds nothing");
  }
}

}  // namespace
}  // namespace goodput::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const goodput::fuzz::MemoryFile file(data, size);
  if (const auto plan = goodput::read_training_plan(file.path())) goodput::fuzz::plan_step(*plan);
  return 0;
}
