#include "models/policy/restart_policy.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace goodput {

RestartPolicy::RestartPolicy(const RestartJob& job, RestartParts parts)
    : job_(&job), parts_(std::move(parts)), choice_(job.options.slow_nodes) {
  if (!parts_.store) parts_.store = std::make_unique<StorageCheckpoints>(*job.job, job.options.checkpoint);
}

std::int32_t RestartPolicy::wanted(std::int32_t available) const {
  if (!parts_.fixed_nodes) return speed().usable(available);
  return available >= *parts_.fixed_nodes ? *parts_.fixed_nodes : 0;
}

bool RestartPolicy::could_grow(const JobView& job) const {
  if (options().absorb == Absorb::kGathered) return wanted(choice_.available(*job.members)) > node_count();
  return parts_.regrouping && parts_.regrouping->is_ready(job.now);
}

SimTime RestartPolicy::wake_at() const {
  if (!parts_.regrouping || is_waiting_) return wake_at_;
  return std::min(wake_at_, parts_.regrouping->ready_after(woken_at_));
}

Response RestartPolicy::on_change(const JobView& job, const NodeChange& change) {
  if (!change.lost.empty()) {
    if (job.is_training) parts_.store->note_trained();
    parts_.store->note_loss(change);
  }
  if (is_waiting_) {
    return wanted(choice_.available(*job.members)) > 0 ? Response::kInterrupt : Response::kIgnore;
  }
  if (parts_.regrouping) parts_.regrouping->note_change(job, change);
  const ChangeImpact impact = impact_of(change, used_);
  if (impact.loses) {
    has_lost_ = true;
    lost_at_ = job.now;
    const auto before = std::ssize(gone_);
    gone_.insert(gone_.end(), change.lost.begin(), change.lost.end());
    std::inplace_merge(gone_.begin(), gone_.begin() + before, gone_.end());
    return Response::kInterrupt;
  }
  if (impact.offers && options().absorb == Absorb::kGathered && wake_at_ == kNoTime)
    wake_at_ = job.now + options().gather;
  const bool may_swap = impact.offers && options().slow_nodes.action == SlowNodeAction::kSwap && slowest_ < 1;
  return impact.slows || may_swap ? Response::kAtStepEnd : Response::kIgnore;
}

Response RestartPolicy::on_wake(const JobView& job) {
  wake_at_ = kNoTime;
  woken_at_ = job.now;
  if (!could_grow(job)) return Response::kIgnore;
  is_growing_ = true;
  return Response::kAtStepEnd;
}

Course RestartPolicy::decide(const JobState& job) {
  find_left(job);
  if (!job.was_interrupted) holds_state_ = has_begun_ && !is_waiting_;
  const bool is_held = !job.was_interrupted || (parts_.regrouping && parts_.regrouping->outlasts_losses());
  if (holds_state_ && is_held) {
    if (!has_lost_ && !job.was_interrupted) parts_.store->note_trained();
    is_growing_ = is_growing_ && could_grow(job);  // who joined may be gone again
    if (!job.was_interrupted && !is_growing_ && keeps_its_nodes(job)) return carry_on(job);
    if (std::optional<Course> course = go_on(job)) return *std::move(course);
  }
  return restart(job);
}

void RestartPolicy::find_left(const JobState& job) {
  left_.clear();
  auto from = used_.begin();
  for (const NodeId gone : gone_) {
    const auto at = std::lower_bound(from, used_.end(), gone);
    left_.insert(left_.end(), from, at);
    from = at != used_.end() && *at == gone ? at + 1 : at;
  }
  left_.insert(left_.end(), from, used_.end());
  if (job.members->slowest(left_) == 1) return;  // nobody to evict
  std::erase_if(left_, [&](NodeId node) { return !choice_.may_use(*job.members, node); });
}

// Only speeds have changed, and nothing is done about that.
bool RestartPolicy::keeps_its_nodes(const JobState& job) {
  if (has_lost_) return false;
  const SlowNodeRule& rule = options().slow_nodes;
  const auto is_slow = [&](NodeId node) { return job.members->speed(node) < rule.threshold; };
  if (rule.action == SlowNodeAction::kKeep || std::none_of(used_.begin(), used_.end(), is_slow)) return true;
  if (rule.action == SlowNodeAction::kEvict) return false;
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

std::optional<Course> RestartPolicy::go_on(const JobState& job) {
  if (!parts_.regrouping) return std::nullopt;
  std::optional<Regrouped> regrouped = parts_.regrouping->go_on({job, used_, left_, has_lost_});
  if (!regrouped) return std::nullopt;
  used_ = std::move(regrouped->nodes);
  Course course = train(job, regrouped->grows ? Cause::kScaleUp : Cause::kReconfiguration, ResumeFrom::kHere,
                        regrouped->phases);
  settle();
  if (options().absorb == Absorb::kGathered && wake_at_ == kNoTime && could_grow(job))
    wake_at_ = job.now + options().gather;
  return course;
}

// On the same nodes; experts move first if they are to.
Course RestartPolicy::carry_on(const JobState& job) {
  Phases phases;
  if (job.step == rebalances_at_)
    phases.add(TimeBucket::kExpertRebalancing, parts_.balance->time_at(job.step));
  const Cause cause = phases.all().empty() ? Cause::kNone : Cause::kRebalancing;
  return train(job, cause, ResumeFrom::kHere, phases);
}

Course RestartPolicy::wait(const JobState& job) {
  const ResumeFrom from = parts_.store->resume_level();
  if (!used_.empty()) parts_.store->note_stop({job, from, used_, left_});
  used_.clear();
  gone_.clear();
  is_waiting_ = true;
  is_growing_ = holds_state_ = false;
  wake_at_ = kNoTime;
  std::int32_t least = 1;
  while (least <= job_->job->most_nodes() && wanted(least) == 0) ++least;
  Course course;
  course.kind = Course::Kind::kWait;
  course.from = from;
  course.reason = nodes_needed(least, choice_.available(*job.members) < job.members->count());
  return course;
}

Course RestartPolicy::restart(const JobState& job) {
  const std::int32_t count = wanted(choice_.available(*job.members));
  if (count == 0) return wait(job);
  const bool saves = is_planned(job);
  const ResumeFrom from = saves ? ResumeFrom::kHere : parts_.store->resume_level();
  const SimDuration save = saves ? parts_.store->planned_save(node_count()) : SimDuration{};
  if (has_begun_) parts_.store->note_stop({job, from, used_, left_});
  choice_.choose(*job.members, count, left_, used_);
  if (parts_.regrouping) parts_.regrouping->place(used_);
  const Phases phases = restart_phases(job, from, save);
  const Cause cause = has_begun_ ? Cause::kRestart : Cause::kStart;
  has_begun_ = true;
  holds_state_ = false;
  settle();
  wake_at_ = kNoTime;
  Course course = train(job, cause, from, phases);
  course.saves = saves;
  if (saves) course.saved_bytes = parts_.store->planned_bytes();
  return course;
}

// With the nodes in use, which are chosen already.
Phases RestartPolicy::restart_phases(const JobState& job, ResumeFrom from, SimDuration save) const {
  const RestartTiming& timing = options().timing;
  Phases phases;
  if (!has_begun_) {
    if (job_->job->start() == JobStart::kCold) phases.add(TimeBucket::kProgramStartup, timing.startup);
    return phases;
  }
  // It was not noticed before, even if those that are needed are there again by now.
  if (has_lost_) phases.add(TimeBucket::kInfrastructureRecovery, lost_at_ + timing.detect - job.now);
  phases.add(TimeBucket::kCheckpointSave, save);
  const bool is_in_place = stays_up();
  phases.add(is_in_place ? TimeBucket::kElasticReinitialization : TimeBucket::kProgramStartup,
             is_in_place ? parts_.in_place->swap : timing.startup);
  phases.add(TimeBucket::kCheckpointRestore, parts_.store->resume_time(from, node_count()));
  return phases;
}

// Nodes that the job had to wait for were no spares.
bool RestartPolicy::stays_up() const {
  if (!parts_.in_place || is_waiting_) return false;
  return parts_.in_place->spares == Spares::kHot ||
         std::includes(left_.begin(), left_.end(), used_.begin(), used_.end());
}

SimDuration RestartPolicy::restart_time() const {
  const RestartTiming& timing = options().timing;
  return timing.detect + (parts_.in_place ? parts_.in_place->swap : timing.startup) +
         parts_.store->restore_time(ResumeFrom::kStorage, node_count());
}

Course RestartPolicy::train(const JobState& job, Cause cause, ResumeFrom from, const Phases& phases) {
  slowest_ = job.members->slowest(used_);
  const StepTime step = speed().at(node_count(), job.step_from(from), slowest_);
  Course course;
  course.cause = cause;
  course.from = from;
  course.phases = phases;
  course.nodes = used_;
  course.samples_per_step = step.samples;
  if (parts_.balance != nullptr) rebalances_at_ = parts_.balance->next(job.step_from(from));
  course.decide_at_step = rebalances_at_;
  course.checkpoints = parts_.store->rules(step, node_count(), restart_time());
  parts_.store->note_training({job.step_from(from), step, course.checkpoints, used_});
  return course;
}

}  // namespace goodput
