// How n nodes stand in pipelines of unequal length, and how long a step takes them (Oobleck, SOSP 2023).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/job/job_model.h"
#include "sim/base/shared_memo.h"

namespace goodput {

// Layers [first, end) of the model.
struct LayerSpan {
  std::int32_t first = 0;
  std::int32_t end = 0;
};

struct PipelineLayout {
  std::vector<LayerSpan> layers_of_place{};  // by place: pipeline after pipeline, first stage first
  std::vector<std::int32_t> lengths{};       // nodes of each pipeline
  StepTime time{};                           // with the job's whole batch, split by the pipelines' speeds
};

// So few nodes cannot hold the shortest pipeline.
[[nodiscard]] Error no_pipeline(std::int64_t nodes, std::int32_t shortest);

// Whether the plan splits experts over GPUs of several replicas. Pipelines share no experts, so they split
// them over tp GPUs instead.
[[nodiscard]] bool splits_experts_over_replicas(const ParallelPlan& plan);

class PipelineLayouts {
 public:
  // Keeps a reference. `nodes` of the shortest pipeline; there are as many pipelines as that and the
  // micro-batches of a step allow.
  PipelineLayouts(const JobModel& job, std::int32_t shortest, const StepSettings& settings);

  // The most that can be used: no pipeline has more stages than the model has layers. 0: on so few a step has
  // more ops than can be simulated.
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const;

  [[nodiscard]] const std::string& schedule() const { return schedule_; }

  // Finds how few nodes can be used. Fails where more of them, up to those of the job, form pipelines that
  // cannot be timed.
  [[nodiscard]] Status settle();

  // REQUIRES: usable(nodes) == nodes. Fails where no pipeline fits, and on what the plan's schedule or cost
  // model cannot do. Whatever the pipelines, the batch is the same.
  [[nodiscard]] Result<PipelineLayout> lay_out(std::int32_t nodes, double slowest) const;

  // The same of healthy nodes, found once for all threads. Checks that it does not fail.
  [[nodiscard]] const PipelineLayout& at(std::int32_t nodes) const;

 private:
  // Pipelines that take as long as each other.
  struct Kind {
    std::int32_t stages = 0;
    std::int64_t micro_batches = 0;  // of each pipeline and step
    std::int32_t pipelines = 0;      // of all kinds together
  };
  [[nodiscard]] std::vector<Kind> kinds_of(const std::vector<std::int32_t>& lengths) const;
  [[nodiscard]] ParallelPlan plan_of(const Kind& kind) const;
  [[nodiscard]] Result<StepTime> time(const Kind& kind, double slowest) const;
  [[nodiscard]] Status check_size(const Kind& kind) const;
  [[nodiscard]] bool surely_short() const;
  [[nodiscard]] std::vector<std::int32_t> lengths_of(std::int32_t nodes) const;
  [[nodiscard]] std::int32_t pipelines_of(std::int32_t nodes) const;
  [[nodiscard]] std::int32_t stages_of(std::int32_t nodes) const;
  [[nodiscard]] std::vector<std::int32_t> layers_by_stage(std::int32_t stages) const;

  const JobModel* job_;
  std::int32_t shortest_;
  StepSettings settings_;
  std::int32_t least_ = 0;      // nodes that can be used
  std::int64_t samples_;        // of a step
  std::int64_t micro_batches_;  // of all pipelines together
  std::string schedule_;  // the plan's, or 1F1B where that wants chunks or certain numbers of micro-batches
  mutable SharedMemo<1, PipelineLayout> healthy_;     // by nodes
  mutable SharedMemo<3, Result<StepTime>> of_kinds_;  // likewise healthy, by the members of Kind
};

}  // namespace goodput
