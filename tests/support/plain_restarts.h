// The least that a fault-tolerance policy can be: all nodes train; when one of them is lost, those that are
// left restart from a checkpoint.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/job/recovery_policy.h"

namespace goodput::testing {

struct PlainRestartTimes {
  SimDuration step{};
  std::int64_t samples_per_step = 1;
  CheckpointRules checkpoints{};
  SimDuration start{};    // of processes, before the first step
  SimDuration restart{};  // the same after a loss
  SimDuration restore{};  // of a checkpoint
  ResumeFrom from = ResumeFrom::kStorage;
  std::int32_t least_nodes = 1;
  std::size_t most_nodes = std::numeric_limits<std::size_t>::max();
  Response to_joins = Response::kIgnore;
};

class PlainRestarts final : public RecoveryPolicy {
 public:
  explicit PlainRestarts(const PlainRestartTimes& plan) : plan_(plan) {}

  [[nodiscard]] Response on_change(const JobView& job, const NodeChange& change) override {
    if (is_waiting_)
      return job.members->count() < plan_.least_nodes ? Response::kIgnore : Response::kInterrupt;
    for (const NodeId node : change.lost) {
      if (!std::binary_search(nodes_.begin(), nodes_.end(), node)) continue;
      has_lost_ = true;
      return Response::kInterrupt;
    }
    return change.joined.empty() ? Response::kIgnore : plan_.to_joins;
  }

  [[nodiscard]] Course decide(const JobState& job) override {
    Course course;
    is_waiting_ = job.members->count() < plan_.least_nodes;
    if (is_waiting_) {
      course.kind = Course::Kind::kWait;
      course.reason = "needs " + std::to_string(plan_.least_nodes) + " nodes";
      return course;
    }
    if (has_started_) {
      course.cause = has_lost_ ? Cause::kRestart : Cause::kScaleUp;
      course.from = has_lost_ ? plan_.from : ResumeFrom::kHere;
      course.phases.add(TimeBucket::kInfrastructureRecovery, plan_.restart);
      course.phases.add(TimeBucket::kCheckpointRestore, plan_.restore);
    } else {
      course.cause = Cause::kStart;
      course.phases.add(TimeBucket::kProgramStartup, plan_.start);
    }
    const NodeSet& all = job.members->nodes();
    nodes_.clear();
    std::copy_n(all.begin(), std::min(all.size(), plan_.most_nodes), std::back_inserter(nodes_));
    has_started_ = true;
    has_lost_ = false;
    course.nodes = nodes_;
    course.samples_per_step = plan_.samples_per_step;
    course.checkpoints = plan_.checkpoints;
    return course;
  }

  [[nodiscard]] Pace pace(std::int64_t) override { return {plan_.step}; }

 private:
  PlainRestartTimes plan_;
  std::vector<NodeId> nodes_;
  bool is_waiting_ = false;
  bool has_started_ = false;
  bool has_lost_ = false;
};

}  // namespace goodput::testing
