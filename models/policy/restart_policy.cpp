#include "models/policy/restart_policy.h"

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
  if (!change.lost.empty()) {
    if (job.is_training) note_trained();
    note_loss(change);
  }
  if (is_waiting_) {
    return wanted(choice_.available(*job.members)) > 0 ? Response::kInterrupt : Response::kIgnore;
  }
  const ChangeImpact impact = impact_of(change, used_);
  if (impact.loses) {
    has_lost_ = true;
    lost_at_ = job.now;
    gone_.insert(gone_.end(), change.lost.begin(), change.lost.end());
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
  if (!could_grow(job)) return Response::kIgnore;
  is_growing_ = true;
  return Response::kAtStepEnd;
}

Course RestartPolicy::decide(const JobState& job) {
  find_left(job);
  if (has_begun_ && !is_waiting_ && !job.was_interrupted) {
    if (!has_lost_) note_trained();
    is_growing_ = is_growing_ && could_grow(job);  // who joined may be gone again
    if (!is_growing_ && keeps_its_nodes(job)) return train(job, Cause::kNone, ResumeFrom::kHere, {});
    Course course = go_on(job, left_);
    if (course.kind == Course::Kind::kTrain) {
      settle();
      if (settings_->absorb == Absorb::kGathered && wake_at_ == kNoTime && could_grow(job))
        wake_at_ = job.now + settings_->gather;
      return course;
    }
  }
  return restart(job);
}

void RestartPolicy::find_left(const JobState& job) {
  left_.clear();
  const std::span<const NodeId> there = job.members->nodes();
  std::set_intersection(used_.begin(), used_.end(), there.begin(), there.end(), std::back_inserter(left_));
  std::erase_if(left_,
                [this](NodeId node) { return std::find(gone_.begin(), gone_.end(), node) != gone_.end(); });
  if (job.members->slowest(left_) == 1) return;  // nobody to evict
  std::erase_if(left_, [&](NodeId node) { return !choice_.may_use(*job.members, node); });
}

// Only speeds have changed, and nothing is done about that.
bool RestartPolicy::keeps_its_nodes(const JobState& job) {
  if (has_lost_) return false;
  const auto is_slow = [&](NodeId node) {
    return job.members->speed(node) < settings_->slow_nodes.threshold;
  };
  if (settings_->slow_nodes.action == SlowNodeAction::kKeep ||
      std::none_of(used_.begin(), used_.end(), is_slow))
    return true;
  if (settings_->slow_nodes.action == SlowNodeAction::kEvict) return false;
  choice_.choose(*job.members, node_count(), used_, chosen_);
  return chosen_ == used_;
}

// Without a loss, to use other nodes: a checkpoint is written first, and nothing is lost. Who is evicted
// counts as lost.
bool RestartPolicy::is_planned(const JobState& job) const {
  return has_begun_ && !has_lost_ && !is_waiting_ && !job.was_interrupted && left_.size() == used_.size();
}

void RestartPolicy::settle() {
  has_lost_ = is_waiting_ = is_growing_ = false;
  gone_.clear();
}

Course RestartPolicy::wait(const JobState& job) {
  if (!used_.empty()) note_stop(job, resume_level(), {});
  used_.clear();
  gone_.clear();
  is_waiting_ = true;
  is_growing_ = false;
  wake_at_ = kNoTime;
  std::int32_t least = 1;
  while (least <= job_->most_nodes() && wanted(least) == 0) ++least;
  Course course;
  course.kind = Course::Kind::kWait;
  course.from = resume_level();
  course.reason = nodes_needed(settings_->slow_nodes, least);
  return course;
}

Course RestartPolicy::restart(const JobState& job) {
  const std::int32_t count = wanted(choice_.available(*job.members));
  if (count == 0) return wait(job);
  const bool is_first = !has_begun_;
  const bool saves = is_planned(job);
  const ResumeFrom from = saves ? ResumeFrom::kHere : resume_level();
  const SimDuration save = saves ? planned_save() : SimDuration{};
  if (!used_.empty()) note_stop(job, from, left_);
  choice_.choose(*job.members, count, left_, used_);
  note_nodes();
  Phases phases;
  if (is_first) {
    if (job_->start() == JobStart::kCold) phases.add(TimeBucket::kProgramStartup, settings_->timing.startup);
  } else {
    // It was not noticed before, even if those that are needed are there again by now.
    if (has_lost_)
      phases.add(TimeBucket::kInfrastructureRecovery, lost_at_ + settings_->timing.detect - job.now);
    phases.add(TimeBucket::kCheckpointSave, save);
    add_restart(from, phases);
  }
  has_begun_ = true;
  settle();
  wake_at_ = kNoTime;
  Course course = train(job, is_first ? Cause::kStart : Cause::kRestart, from, phases);
  course.saves = saves;
  return course;
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
  note_training(job.step_from(from), course.checkpoints);
  return course;
}

}  // namespace goodput
