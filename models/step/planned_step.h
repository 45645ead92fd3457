// A training step made from a plan: the same kind of graph that a trace yields, with costs instead of
// recorded times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/step/granularity.h"
#include "models/step/layer_work.h"
#include "models/step/step_routing.h"
#include "sim/base/errors.h"
#include "sim/engine/step_engine.h"
#include "sim/engine/timing.h"
#include "sim/machine/cost_model.h"
#include "sim/ops/op_graph.h"
#include "sim/ops/trace_index.h"

namespace goodput {

struct StepOp {
  TraceOp op;  // which op it is, or is a part of
  LayerPart part = LayerPart::kWhole;
  std::int16_t layer = -1;

  [[nodiscard]] std::string name() const;   // `forward-compute_3_0/attention_2`
  [[nodiscard]] std::string label() const;  // `forward-compute/attention`: what it is reported under
  [[nodiscard]] bool is_communication() const;
};

struct PlannedStep {
  std::vector<StepOp> ops;  // by OpId
  OpGraph graph;
  LaneShape lanes;                    // one, or one an expert-parallel rank where their loads differ
  std::vector<std::uint32_t> row_of;  // by OpId: its row in values_ns
  std::vector<double> values_ns;      // rows of lanes.stride() whole nanoseconds: durations, transfer times
  std::vector<double> nic_bytes;      // by row: what of it moves bytes through the NIC of a GPU
  Tier tier = Tier::kModel;           // the lowest that a value rests on

  [[nodiscard]] std::span<const double> row(OpId op) const {
    return std::span(values_ns).subspan(row_of[op] * lanes.stride(), lanes.stride());
  }
};

// Fails, naming the plan's field, on what its schedule cannot run, and on ops that add up to more than
// kLongestStepS: then with the longest sequences that do not, if there are such. REQUIRES:
// check_training_plan(plan), and what compute_step_costs() does of `routing`.
Result<PlannedStep> build_planned_step(const TrainingPlan& plan, const CostModel& cost,
                                       Granularity granularity, const StepRouting& routing);
// With drawn_routing(plan, seed).
Result<PlannedStep> build_planned_step(const TrainingPlan& plan, const CostModel& cost,
                                       Granularity granularity, std::uint64_t seed);

// The same costs for the event-driven engine (sim/engine/step_engine.h), a worker a stage and lane.
[[nodiscard]] StepWork step_work(const PlannedStep& step);
[[nodiscard]] Workers step_workers(const PlannedStep& step);

// With what goes between nodes as flows over the NIC of each worker's GPU, a link in and one out of
// `nic` each: sends between stages, all-to-alls and data-parallel collectives that run at the same time share
// them.
[[nodiscard]] StepWork step_work_over_nics(const PlannedStep& step, BytesPerSecond nic);

// The step's own costs.
class PlannedValues final : public OpValues {
 public:
  explicit PlannedValues(const PlannedStep& step) : step_(step) {}
  [[nodiscard]] lanes::Values value(OpId op, std::span<double> /*scratch*/) const override {
    return {step_.row(op).data(), 0};
  }

 private:
  const PlannedStep& step_;
};

}  // namespace goodput
