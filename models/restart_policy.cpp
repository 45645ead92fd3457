#include "models/restart_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace goodput {

RestartPolicy::RestartPolicy(const JobModel& job, const RestartSettings& settings, TrainingSpeed& speed)
    : job_(&job),
      settings_(&settings),
      speed_(&speed),
      choice_(settings.slow_nodes),
      bytes_(checkpoint_bytes(job, settings.checkpoint)) {}

Response RestartPolicy::on_change(const JobView& job, const NodeChange& change) {
  if (!change.lost.empty()) note_loss(job, change);
  if (is_waiting_) {
    return wanted(choice_.available(*job.members)) > 0 ? Response::kInterrupt : Response::kIgnore;
  }
  const ChangeImpact impact = impact_of(change, used_);
  if (impact.loses) {
    has_lost_ = true;
    return Response::kInterrupt;
  }
  if (impact.offers && settings_->absorb == Absorb::kGathered && wake_at_ == kNoTime)
    wake_at_ = job.now + settings_->gather;
  return impact.slows ||
                 (impact.offers && settings_->slow_nodes.action == SlowNodeAction::kSwap && slowest_ < 1)
             ? Response::kAtStepEnd
             : Response::kIgnore;
}

Response RestartPolicy::on_wake(const JobView& job) {
  wake_at_ = kNoTime;
  if (wanted(choice_.available(*job.members)) <= node_count()) return Response::kIgnore;
  is_growing_ = true;
  return Response::kAtStepEnd;
}

Course RestartPolicy::decide(const JobState& job) {
  if (has_begun_ && !is_waiting_ && !job.was_interrupted) {
    if (!is_growing_ && keeps_its_nodes(job)) return train(job, Cause::kNone, ResumeFrom::kHere, {});
    left_.clear();
    std::copy_if(used_.begin(), used_.end(), std::back_inserter(left_),
                 [&](NodeId node) { return choice_.may_use(*job.members, node); });
    Course course = go_on(job, left_);
    if (course.kind == Course::Kind::kTrain) {
      has_lost_ = is_growing_ = false;
      return course;
    }
  }
  return restart(job);
}

// Only speeds have changed, and nothing is done about that.
bool RestartPolicy::keeps_its_nodes(const JobState& job) {
  if (has_lost_ || node_count() > choice_.available(*job.members)) return false;
  const auto is_slow = [&](NodeId node) {
    return job.members->speed(node) < settings_->slow_nodes.threshold;
  };
  if (settings_->slow_nodes.action == SlowNodeAction::kKeep ||
      std::none_of(used_.begin(), used_.end(), is_slow))
    return true;
  if (settings_->slow_nodes.action == SlowNodeAction::kEvict) return false;
  choice_.choose(*job.members, node_count(), left_);
  return left_ == used_;
}

Course RestartPolicy::wait(const JobState& /*job*/) {
  used_.clear();
  is_waiting_ = true;
  std::int32_t least = 1;
  while (least <= job_->most_nodes() && wanted(least) == 0) ++least;
  Course course;
  course.kind = Course::Kind::kWait;
  course.from = resume_level();
  course.cause = Cause::kNone;
  course.reason = fmt::format("needs {} nodes", least);
  return course;
}

Course RestartPolicy::restart(const JobState& job) {
  const std::int32_t count = wanted(choice_.available(*job.members));
  if (count == 0) return wait(job);
  const bool is_first = !has_begun_;
  // To grow is planned: a checkpoint is written first, and nothing is lost.
  const bool is_planned = is_growing_ && !has_lost_ && !is_waiting_ && !job.was_interrupted;
  const ResumeFrom from = is_planned ? ResumeFrom::kHere : resume_level();
  const SimDuration save = is_planned ? save_times().total() : SimDuration{};
  choice_.choose(*job.members, count, used_);
  note_nodes();
  Phases phases;
  if (is_first) {
    if (job_->start() == JobStart::kCold) phases.add(TimeBucket::kProgramStartup, settings_->timing.startup);
  } else {
    if (has_lost_ && !is_waiting_) phases.add(TimeBucket::kInfrastructureRecovery, settings_->timing.detect);
    phases.add(TimeBucket::kCheckpointSave, save);
    add_restart(from, phases);
    note_restart(job);
  }
  has_begun_ = true;
  has_lost_ = is_waiting_ = is_growing_ = false;
  wake_at_ = kNoTime;
  return train(job, is_first ? Cause::kStart : Cause::kRestart, from, phases);
}

void RestartPolicy::add_restart(ResumeFrom /*from*/, Phases& phases) const {
  phases.add(TimeBucket::kProgramStartup, settings_->timing.startup);
  phases.add(TimeBucket::kCheckpointRestore, bytes_ / settings_->checkpoint.read);
}

CheckpointRules RestartPolicy::checkpoint_rules(const StepTime& step) const {
  const CheckpointSettings& settings = settings_->checkpoint;
  return {CheckpointRule{}, checkpoint_rule(settings, save_times(), step, restart_time())};
}

SaveTimes RestartPolicy::save_times() const {
  return whole_save_times(settings_->checkpoint, bytes_, node_count());
}

SimDuration RestartPolicy::restart_time() const {
  Phases phases;
  add_restart(ResumeFrom::kStorage, phases);
  SimDuration total = settings_->timing.detect;
  for (const Phase& phase : phases.all()) total += phase.duration;
  return total;
}

Course RestartPolicy::train(const JobState& job, Cause cause, ResumeFrom from, const Phases& phases) {
  slowest_ = job.members->slowest(used_);
  const StepTime& step = speed_->at(node_count(), job.step_from(from), slowest_);
  Course course;
  course.cause = cause;
  course.from = from;
  course.phases = phases;
  course.nodes = used_;
  course.samples_per_step = step.samples;
  course.checkpoints = checkpoint_rules(step);
  return course;
}

}  // namespace goodput
