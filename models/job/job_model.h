// A training job as its recovery policies see it: what a step takes on n nodes, and what has to be saved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/job/job_step.h"
#include "models/job/timed_plan.h"
#include "models/plan/training_plan.h"
#include "models/routing/job_routing.h"
#include "sim/base/errors.h"
#include "sim/base/shared_memo.h"

namespace goodput {

// What a job finds when it begins.
enum class JobStart : std::uint8_t {
  kRunning,  // processes are up: time starts with the first step
  kCold,     // they have to be started
};
inline constexpr std::string_view kJobStartNames[] = {"running", "cold"};

struct JobTerms {
  TrainingPlan plan{};
  std::int32_t most_nodes = 0;  // that the job uses; 0: those of the plan's cluster
  // Policies that train on the plan's replicas use no more nodes than these at a time; others are spares.
  // 0: no such limit.
  std::int32_t max_training_nodes = 0;
  Where nodes_where{};          // what says so, for messages: that key of a scenario
  std::int32_t nodes_ever = 0;  // that can be there at all; 0: not known
  BatchRule batch = BatchRule::kFixed;
  JobStart start = JobStart::kCold;
  // Expected losses of some node that the job uses, per second, of a job on so many nodes; empty: not known.
  std::function<double(std::int32_t)> interruptions_per_s{};
};

// Fixed once made; policies keep references to it.
class JobModel {
 public:
  // Errors: those of TimedPlan.
  static Result<std::unique_ptr<const JobModel>> make(JobTerms terms, JobRouting routing);
  // A job of this plan. REQUIRES: it is that of `terms`, with its batch; it outlives the job.
  static std::unique_ptr<const JobModel> make(const JobTerms& terms, const TimedPlan& timed);

  JobModel(const JobModel&) = delete;
  JobModel& operator=(const JobModel&) = delete;

  [[nodiscard]] const TimedPlan& timed() const { return *timed_; }
  [[nodiscard]] const TrainingPlan& plan() const { return timed_->plan(); }
  [[nodiscard]] const JobRouting& routing() const { return timed_->routing(); }
  [[nodiscard]] const MoeStepModel& steps() const { return timed_->steps(); }
  [[nodiscard]] const CheckpointModel& modules() const { return timed_->modules(); }
  [[nodiscard]] JobStart start() const { return start_; }
  // May be fewer than the plan's replicas take.
  [[nodiscard]] std::int32_t most_nodes() const { return most_nodes_; }
  // Of `nodes` nodes, those that a policy may train on that does not grow beyond the plan.
  [[nodiscard]] std::int32_t training_nodes(std::int32_t nodes) const {
    return std::min(nodes, max_training_nodes_);
  }
  [[nodiscard]] bool has_experts() const { return plan().model.moe.has_value(); }
  // No more than these it will ever have.
  [[nodiscard]] std::int32_t most_nodes_ever() const {
    return nodes_ever_ > 0 ? std::min(nodes_ever_, most_nodes()) : most_nodes();
  }
  // Mean time between losses of nodes that the job uses, of so many, by what is known of the failures:
  // infinite where none hits them. None: nothing is known.
  [[nodiscard]] std::optional<double> mtbf_s(std::int32_t nodes) const;

  // That the GPUs of the plan's replicas take.
  [[nodiscard]] std::int32_t plan_nodes() const;

  // Of the plan as it is written, on all its nodes, which are healthy, with its own routing: what a sample
  // takes where nothing fails and nothing idles.
  [[nodiscard]] double ideal_node_seconds_per_sample() const;
  // most_nodes() are too few, or not what the job can use.
  [[nodiscard]] Error error_of_nodes(std::string what) const { return {std::move(what), nodes_where_}; }

 private:
  JobModel(const JobTerms& terms, std::unique_ptr<const TimedPlan> own, const TimedPlan& timed);

  std::unique_ptr<const TimedPlan> own_;  // none: another's
  const TimedPlan* timed_;
  JobStart start_;
  std::int32_t most_nodes_;
  std::int32_t max_training_nodes_;  // most_nodes_ at most
  Where nodes_where_;
  std::int32_t nodes_ever_;
  std::function<double(std::int32_t)> interruptions_per_s_;
  // By nodes: asked for at every restart, and a recording adds up all its losses for it.
  mutable SharedMemo<1, double> interruptions_;
};

}  // namespace goodput
