#include "tests/support/mutated_policy.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace goodput::testing {
namespace {

class MutatedPolicy final : public RecoveryPolicy {
 public:
  MutatedPolicy(std::unique_ptr<RecoveryPolicy> policy, const Mutant& mutant)
      : policy_(std::move(policy)), mutant_(mutant) {}

  [[nodiscard]] Response on_change(const JobView& job, const NodeChange& change) override {
    const Response response = policy_->on_change(job, change);
    return mutant_.response ? mutant_.response(response, change) : response;
  }
  [[nodiscard]] Response on_wake(const JobView& job) override { return policy_->on_wake(job); }
  [[nodiscard]] SimTime wake_at() const override {
    return mutant_.wake_at ? mutant_.wake_at(policy_->wake_at()) : policy_->wake_at();
  }
  [[nodiscard]] Course decide(const JobState& job) override {
    Course course = policy_->decide(job);
    if (mutant_.course) mutant_.course(course);
    return course;
  }
  [[nodiscard]] Pace pace(std::int64_t step) override {
    const Pace pace = policy_->pace(step);
    return mutant_.pace ? mutant_.pace(pace) : pace;
  }
  [[nodiscard]] std::vector<PolicyMetric> metrics(std::int64_t steps) const override {
    return policy_->metrics(steps);
  }

 private:
  std::unique_ptr<RecoveryPolicy> policy_;
  const Mutant& mutant_;
};

// Events that one moment has in common stay in the order in which they are told.
class MutatedFailures final : public FailureModel {
 public:
  MutatedFailures(std::unique_ptr<FailureModel> failures, const Mutant& mutant)
      : failures_(std::move(failures)), mutant_(mutant) {}

  [[nodiscard]] NodeId nodes() const override { return failures_->nodes(); }
  [[nodiscard]] std::optional<NodeEvent> next() override {
    std::optional<NodeEvent> event = failures_->next();
    return event && mutant_.event ? std::optional(mutant_.event(*event, nodes())) : event;
  }
  [[nodiscard]] std::optional<SimTime> end() const override { return failures_->end(); }

 private:
  std::unique_ptr<FailureModel> failures_;
  const Mutant& mutant_;
};

void lengthen(Course& course, TimeBucket bucket, int times) {
  Phases phases;
  for (const Phase& phase : course.phases.all())
    phases.add(phase.bucket, phase.bucket == bucket ? phase.duration * times : phase.duration);
  course.phases = phases;
}

void come_from_storage(Course& course, ResumeFrom wrongly) {
  if (course.from == wrongly && course.cause != Cause::kStart && course.cause != Cause::kNone)
    course.from = ResumeFrom::kStorage;
}

}  // namespace

std::vector<Mutant> mutants() {
  return {
      {.name = "experts are never rebalanced",
       .course = [](Course& course) { course.decide_at_step = kNoStep; }},
      {.name = "checkpoints are counted twice",
       .course =
           [](Course& course) {
             for (CheckpointRule& rule : course.checkpoints) rule.stall *= 2;
           }},
      {.name = "survivors are chosen in reverse",
       .event =
           [](NodeEvent event, NodeId nodes) {
             event.node = nodes - 1 - event.node;
             return event;
           }},
      {.name = "checkpoints in memory are forgotten",
       .course = [](Course& course) { come_from_storage(course, ResumeFrom::kMemory); }},
      {.name = "a reconfiguration loses what was trained",
       .course = [](Course& course) { come_from_storage(course, ResumeFrom::kHere); }},
      {.name = "nodes that return are not seen",
       .response =
           [](Response response, const NodeChange& change) {
             return change.lost.empty() ? Response::kIgnore : response;
           }},
      {.name = "timers never ring", .wake_at = [](SimTime) { return kNoTime; }},
      {.name = "steps take 2 % longer",
       .pace =
           [](Pace pace) {
             pace.step = pace.step * 102 / 100;
             return pace;
           }},
      {.name = "losses are detected twice",
       .course = [](Course& course) { lengthen(course, TimeBucket::kInfrastructureRecovery, 2); }},
      {.name = "programs start twice",
       .course = [](Course& course) { lengthen(course, TimeBucket::kProgramStartup, 2); }},
      {.name = "slow nodes are slower",
       .event =
           [](NodeEvent event, NodeId) {
             if (event.kind == NodeEvent::Kind::kSpeed && event.speed < 1) event.speed *= 0.9;
             return event;
           }},
      {.name = "steps are lost twice",
       .result =
           [](JobResult& result) {
             if (result.steps == 0) return;
             const std::int64_t lost = std::min(result.steps_lost, result.steps);
             result.samples -= result.samples / result.steps * lost;
             result.steps -= lost;
           }},
  };
}

std::unique_ptr<RecoveryPolicy> mutated(std::unique_ptr<RecoveryPolicy> policy, const Mutant& mutant) {
  return std::make_unique<MutatedPolicy>(std::move(policy), mutant);
}

std::unique_ptr<FailureModel> mutated(std::unique_ptr<FailureModel> failures, const Mutant& mutant) {
  return std::make_unique<MutatedFailures>(std::move(failures), mutant);
}

}  // namespace goodput::testing
