#include "models/step/step_report.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "models/schedule/schedule.h"
#include "models/step/gpu_parameters.h"
#include "models/step/layer_work.h"

namespace goodput {
namespace {

// The step's costs as if all communication took no time.
class WithoutCommunication final : public OpValues {
 public:
  explicit WithoutCommunication(const PlannedStep& step) : step_(step) {}
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> /*scratch*/) const override {
    if (step_.ops[op].is_communication()) return {};
    return {step_.row(op).data(), 0};
  }

 private:
  const PlannedStep& step_;
};

SimDuration nanoseconds(double value) {
  return SimDuration{static_cast<std::int64_t>(value)};
}

// Of the stages' time until the last pass ends, without communication: the share in which they idle.
double bubble_of(const PlannedStep& step) {
  std::vector<OpId> passes;
  double busy = 0;
  std::int16_t last_stage = 0;
  for (OpId op = 0; op < step.ops.size(); ++op) {
    if (!is_pass(step.ops[op].op.type)) continue;
    passes.push_back(op);
    last_stage = std::max(last_stage, step.ops[op].op.stage);
    if (step.ops[op].is_communication()) continue;
    const auto row = step.row(op).first(step.lanes.lanes());
    busy += std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
  }
  TimingEngine timing(step.graph, step.lanes, passes, TimingEngine::Keep::kFinishTimes);
  timing.propagate(WithoutCommunication(step));
  const double end = timing.finish_times().front();
  return end > 0 ? 1 - busy / (last_stage + 1) / end : 0;
}

std::vector<CriticalShare> critical_shares(const PlannedStep& step, const TimingEngine& timing) {
  std::map<std::string, double> by_label;
  for (const auto& element : timing.critical_path(0, PlannedValues(step))) {
    by_label[step.ops[element.op].label()] += element.length;
  }
  std::vector<CriticalShare> shares;
  for (const auto& [label, length] : by_label) {
    if (length > 0) shares.push_back({label, nanoseconds(length)});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const CriticalShare& a, const CriticalShare& b) { return a.time > b.time; });
  return shares;
}

double tokens_per_second(const ParallelPlan& parallel, SimDuration step) {
  const double tokens =
      static_cast<double>(parallel.global_batch) * static_cast<double>(parallel.sequence_length);
  return tokens / to_seconds(step);
}

double rated_flops(const TrainingPlan& plan, const ParallelPlan& parallel) {
  const Precision precision = parallel.has_fp8() ? Precision::kFp8 : high_precision(parallel);
  return plan.cluster.gpu.rated(precision).value * static_cast<double>(parallel.gpus());
}

double flops_of(const std::vector<PartWork>& parts) {
  double flops = 0;
  for (const PartWork& part : parts) {
    for (const Kernel& kernel : part.kernels) {
      flops += kernel.flops + 2.0 * static_cast<double>(kernel.batch) * static_cast<double>(kernel.m) *
                                  static_cast<double>(kernel.n) * static_cast<double>(kernel.k);
    }
  }
  return flops;
}

}  // namespace

SimDuration step_time(const PlannedStep& step) {
  TimingEngine timing(step.graph, step.lanes, {}, TimingEngine::Keep::kStepTimes);
  timing.propagate(PlannedValues(step));
  return nanoseconds(timing.spans().front());
}

SimDuration step_time_over_nics(const PlannedStep& step, BytesPerSecond nic) {
  StepEngine engine(step.graph, step.lanes, step_workers(step));
  const StepOutcome& outcome = engine.run(step_work_over_nics(step, nic), {}, Contention::kFairShare);
  GOODPUT_CHECK(outcome.completed, "a step without losses must complete");
  return outcome.end - SimTime{};
}

double model_flops_utilization(const TrainingPlan& plan, const ParallelPlan& parallel, SimDuration step) {
  return useful_flops_per_token(plan.model, parallel.sequence_length) * tokens_per_second(parallel, step) /
         rated_flops(plan, parallel);
}

double hardware_flops_per_token(const TrainingPlan& plan) {
  const LayerWork work(plan.model, plan.parallel, plan.cluster.gpus_per_node);
  const ExpertShare share = work.balanced_share();
  double flops = 0;
  for (std::int32_t layer = 0; layer < plan.model.layers + plan.model.mtp_layers; ++layer) {
    flops += flops_of(work.forward(layer, share)) + flops_of(work.backward(layer, share, Gradients::kAll));
  }
  flops += (1 + plan.model.mtp_layers) *
           (flops_of(work.head_forward()) + flops_of(work.head_backward(Gradients::kAll)));
  return flops * plan.parallel.tp / work.scope().tokens();
}

double attention_share_of_flops(const TrainingPlan& plan) {
  // Per token, only the scores grow with the length: in proportion, so twice the length has them twice.
  TrainingPlan longer = plan;
  longer.parallel.sequence_length *= 2;
  return hardware_flops_per_token(longer) / hardware_flops_per_token(plan) - 1;
}

MemoryReport planned_memory(const TrainingPlan& plan) {
  const auto schedule = find_schedule(plan.parallel.schedule);
  GOODPUT_CHECK(schedule.has_value(), "a step was built with an unknown schedule");
  return estimate_memory(plan, **schedule);
}

StepReport report_step(const TrainingPlan& plan, const PlannedStep& step) {
  TimingEngine timing(step.graph, step.lanes, {}, TimingEngine::Keep::kAllTimes);
  timing.propagate(PlannedValues(step));
  StepReport report;
  report.step = nanoseconds(timing.spans().front());
  report.critical = critical_shares(step, timing);
  report.bubble = bubble_of(step);
  TimingEngine quiet(step.graph, step.lanes, {}, TimingEngine::Keep::kStepTimes);
  quiet.propagate(WithoutCommunication(step));
  report.exposed_communication = report.step - nanoseconds(quiet.spans().front());
  report.tokens_per_second = tokens_per_second(plan.parallel, report.step);
  report.mfu = model_flops_utilization(plan, plan.parallel, report.step);
  report.hfu = hardware_flops_per_token(plan) * report.tokens_per_second / rated_flops(plan, plan.parallel);
  report.memory = planned_memory(plan);
  report.tier = step.tier;
  return report;
}

}  // namespace goodput
