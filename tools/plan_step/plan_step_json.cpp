
#include "models/stack/step_range.h"
#include "sim/base/json.h"
#include "tools/cli/key_notes.h"
#include "tools/plan_step/plan_step_report.h"
#include "tools/plan_step/step_slices.h"

namespace goodput {
namespace {

OrderedJson memory_json(const MemoryReport& memory) {
  OrderedJson stages = OrderedJson::array();
  for (const StageMemory& stage : memory.stages) {
    stages.push_back({{"total_bytes", stage.total().value},
                      {"weights_bytes", stage.weights.value},
                      {"gradients_bytes", stage.gradients.value},
                      {"optimizer_bytes", stage.optimizer.value},
                      {"activations_bytes", stage.activations.value},
                      {"working_bytes", stage.working.value},
                      {"reserved_bytes", stage.reserved.value},
                      {"micro_batches_alive", stage.micro_batches_alive}});
  }
  return {{"fits", memory.fits()},
          {"available_bytes", memory.available.value},
          {"fullest_stage", memory.fullest},
          {"verdict", memory.verdict()},
          {"stages", std::move(stages)}};
}

}  // namespace

void add_plan_step_json(const PlanStepResult& result, OrderedJson& json) {
  const auto& [plan, step, report, granularity] = result;
  const double total = to_seconds(report.step);
  json["step_s"] = total;
  const StepRange range = range_for(plan.stack, family_of(plan, plan.parallel));
  json["step_range_s"] = OrderedJson{total * range.low, total * range.high};
  json["step_range_basis"] = range.basis;
  json["stack"] = plan.stack.name;
  json["tokens_per_s"] = report.tokens_per_second;
  json["mfu"] = report.mfu;
  json["hfu"] = report.hfu;
  json["bubble"] = report.bubble;
  json["exposed_communication_s"] = to_seconds(report.exposed_communication);
  if (report.over_nics) json["step_over_nics_s"] = to_seconds(*report.over_nics);
  json["memory"] = memory_json(report.memory);
  json["critical_path"] = OrderedJson::array();
  for (const CriticalShare& share : report.critical) {
    json["critical_path"].push_back(
        {{"op", share.label}, {"time_s", to_seconds(share.time)}, {"share", to_seconds(share.time) / total}});
  }
  json["slices"] = step_slices_json(step);
  json["granularity"] = granularity == Granularity::kLayers ? "layers" : "ops";
  json["ops"] = step.ops.size();
  json["lanes"] = step.lanes.lanes();
  json["unused_keys"] = unused_keys_json(plan.unused);
  TrainingPlan echoed = plan;
  json["plan"] = config::write(config_fields(echoed));
}

}  // namespace goodput
