#include "tests/reference/reference_job.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace goodput::reference {
namespace {

constexpr std::int64_t kMostTurns = 10'000'000;

// Time in which nothing changed.
struct Entry {
  SimTime begin{};
  SimTime end{};
  TimeBucket bucket{};
  std::int64_t working = 0;  // nodes
  std::int64_t held = 0;
  std::int64_t step = -1;  // which was trained: 0 is the first
  bool waits = false;
};

struct Checkpoint {
  std::size_t level = 0;
  std::int64_t step = 0;  // steps that it holds
  SimTime usable_from{};
};

enum class Doing : std::uint8_t { kNothing, kPhase, kStep, kSave };

class Run {
 public:
  Run(const JobGoal& goal, const PriceSchedule& prices, FailureModel& failures, RecoveryPolicy& policy)
      : goal_(goal), prices_(prices), failures_(failures), policy_(policy) {}

  JobResult run() {
    event_ = failures_.next();
    NodeChange ignored;
    apply_events(ignored);
    decide();
    for (std::int64_t turn = 0; !over_; ++turn) {
      if (turn == kMostTurns) throw std::runtime_error("the reference run does not end");
      take_turn();
    }
    return result();
  }

 private:
  void take_turn() {
    const SimTime event = event_ ? event_->time : kNoTime;
    const SimTime trace_end = failures_.end().value_or(kNoTime);
    const SimTime until = std::min(trace_end, goal_.until.value_or(kNoTime));
    const SimTime wake = policy_.wake_at();
    const SimTime next = std::min({ends_, until, event, wake});
    if (next == kNoTime) return stop(nothing_to_wait_for());
    note_until(next);
    if (ends_ == next) return end_activity();
    if (until == next) {
      if (doing_ == Doing::kNothing && !event_ && wake == kNoTime) return stop(nothing_to_wait_for());
      return stop(trace_end == next && goal_.until != next ? "the node trace ends here" : "");
    }
    if (event == next) return change_nodes();
    respond(policy_.on_wake(view()));
  }

  [[nodiscard]] std::string nothing_to_wait_for() const {
    return "the job " + course_.reason + ", has " + std::to_string(held_.size()) +
           ", and no more node changes are coming";
  }

  void note_until(SimTime time) {
    if (time == now_) return;
    Entry entry{now_, time, TimeBucket::kInfrastructureRecovery, 0, static_cast<std::int64_t>(held_.size())};
    if (doing_ != Doing::kNothing) entry.working = static_cast<std::int64_t>(course_.nodes.size());
    entry.waits = doing_ == Doing::kNothing;
    if (doing_ == Doing::kPhase) entry.bucket = course_.phases.all()[phase_].bucket;
    if (doing_ == Doing::kSave) entry.bucket = TimeBucket::kCheckpointSave;
    if (doing_ == Doing::kStep) {
      entry.bucket = TimeBucket::kWastedProgress;  // until it is done
      step_entries_.push_back(journal_.size());
    }
    journal_.push_back(entry);
    now_ = time;
  }

  [[nodiscard]] JobView view() const {
    return {now_, &members_, doing_ == Doing::kStep || doing_ == Doing::kSave};
  }

  // ---- Nodes.

  void apply_events(NodeChange& change) {
    for (; event_ && event_->time == now_; event_ = failures_.next()) {
      members_.apply(*event_, change);
      if (event_->kind == NodeEvent::Kind::kAdd) held_.insert(event_->node);
      if (event_->kind == NodeEvent::Kind::kRemove) held_.erase(event_->node);
    }
  }

  void change_nodes() {
    NodeChange change;
    apply_events(change);
    nodes_lost_ += static_cast<std::int64_t>(change.lost.size());
    respond(policy_.on_change(view(), change));
  }

  void respond(Response response) {
    if (response == Response::kIgnore) return;
    if (response == Response::kAtStepEnd && doing_ != Doing::kNothing) {
      decide_next_ = true;
      return;
    }
    was_interrupted_ = doing_ == Doing::kPhase;
    forget_what_is_coming();
    decide();
  }

  // ---- Checkpoints.

  [[nodiscard]] std::int64_t usable(std::size_t level) const {
    std::int64_t step = 0;
    for (const Checkpoint& one : checkpoints_) {
      if (one.level >= level && one.usable_from <= now_) step = std::max(step, one.step);
    }
    return step;
  }
  void forget_what_is_coming() {
    std::erase_if(checkpoints_, [this](const Checkpoint& one) { return one.usable_from > now_; });
  }

  void save_here() {
    checkpoints_.push_back({1, steps(), now_});
    stored_bytes_ += course_.saved_bytes.value;
  }

  void go_back_to(std::int64_t step) {
    for (Entry& entry : journal_) {
      if (entry.bucket == TimeBucket::kProductive && entry.step >= step)
        entry.bucket = TimeBucket::kWastedProgress;
    }
    steps_lost_ += steps() - step;
    samples_.resize(static_cast<std::size_t>(step));
    forget_what_is_coming();
  }

  // ---- What the job does.

  [[nodiscard]] std::int64_t steps() const { return static_cast<std::int64_t>(samples_.size()); }
  [[nodiscard]] std::int64_t samples() const {
    std::int64_t sum = 0;
    for (const std::int64_t samples : samples_) sum += samples;
    return sum;
  }
  [[nodiscard]] bool reaches_goal(std::int64_t steps, std::int64_t samples) const {
    return (goal_.steps && steps >= *goal_.steps) || (goal_.samples && samples >= *goal_.samples);
  }

  void decide() {
    decide_next_ = false;
    const JobState state{view(), steps(), {usable(0), usable(1)}, was_interrupted_, samples(), goal_};
    was_interrupted_ = false;
    course_ = policy_.decide(state);
    ++courses_[static_cast<std::size_t>(course_.cause)];
    if (course_.from == ResumeFrom::kMemory) go_back_to(usable(0));
    if (course_.from == ResumeFrom::kStorage) {
      go_back_to(usable(1));
      std::erase_if(checkpoints_, [](const Checkpoint& one) { return one.level == 0; });
    }
    step_entries_.clear();
    bool has_save = false;
    for (const Phase& phase : course_.phases.all())
      has_save = has_save || phase.bucket == TimeBucket::kCheckpointSave;
    if (course_.saves && !has_save) save_here();
    if (course_.kind == Course::Kind::kGiveUp) return stop("the job " + course_.reason);
    if (course_.kind == Course::Kind::kWait) return begin(Doing::kNothing, kNoTime);
    phase_ = 0;
    begin_phase();
  }

  void begin(Doing what, SimTime ends) {
    doing_ = what;
    ends_ = ends;
  }
  void begin_phase() {
    if (phase_ < course_.phases.all().size())
      return begin(Doing::kPhase, now_ + course_.phases.all()[phase_].duration);
    if (decide_next_) return decide();
    begin_step();
  }
  void begin_step() {
    step_entries_.clear();
    if (reaches_goal(steps(), samples())) return finish();  // a goal of nothing
    begin(Doing::kStep, now_ + policy_.pace(steps()).step);
  }

  void end_activity() {
    if (doing_ == Doing::kPhase) {
      if (course_.saves && course_.phases.all()[phase_].bucket == TimeBucket::kCheckpointSave) save_here();
      ++phase_;
      return begin_phase();
    }
    if (doing_ == Doing::kStep) {
      count_step();
      if (reaches_goal(steps(), samples())) return finish();
      SimDuration save{};
      for (const CheckpointRule& rule : course_.checkpoints) {
        if (is_due(rule)) save += rule.stall;
      }
      if (save > SimDuration{}) return begin(Doing::kSave, now_ + save);
    }
    add_checkpoints();
    if (decide_next_ || steps() == course_.decide_at_step) return decide();
    begin_step();
  }

  [[nodiscard]] bool is_due(const CheckpointRule& rule) const {
    return rule.interval > 0 && steps() % rule.interval == 0;
  }
  void add_checkpoints() {
    for (std::size_t level = 0; level < kCheckpointLevels; ++level) {
      const CheckpointRule& rule = course_.checkpoints[level];
      if (!is_due(rule)) continue;
      checkpoints_.push_back({level, steps(), now_ + rule.lag});
      if (level == 1) stored_bytes_ += rule.bytes.value;
    }
  }
  void count_step() {
    for (const std::size_t entry : step_entries_) {
      journal_[entry].bucket = TimeBucket::kProductive;
      journal_[entry].step = steps();
    }
    samples_.push_back(course_.samples_per_step);
    step_entries_.clear();
  }

  // ---- The end.

  void finish() {
    finished_ = true;
    over_ = true;
  }
  void stop(std::string reason) {
    stopped_ = std::move(reason);
    over_ = true;
  }

  [[nodiscard]] JobResult result() const {
    JobResult result;
    result.finished = finished_;
    result.stopped = stopped_;
    result.end = now_;
    result.steps = steps();
    result.samples = samples();
    for (const Entry& entry : journal_) {
      const SimDuration time = entry.end - entry.begin;
      result.ledger.time[index(entry.bucket)] += time;
      if (entry.waits) result.waited += time;
      result.ledger.node_time[index(entry.bucket)] += NodeTime{time.count()} * entry.working;
      result.ledger.node_time[index(TimeBucket::kIdleNode)] +=
          NodeTime{time.count()} * (entry.held - entry.working);
      result.cost_usd += static_cast<double>(entry.held) * prices_.cost(entry.begin, entry.end);
    }
    result.courses = courses_;
    result.steps_lost = steps_lost_;
    result.nodes_lost = nodes_lost_;
    result.stored_bytes = static_cast<double>(stored_bytes_);
    result.metrics = policy_.metrics(steps());
    return result;
  }

  const JobGoal& goal_;
  const PriceSchedule& prices_;
  FailureModel& failures_;
  RecoveryPolicy& policy_;

  SimTime now_{};
  std::optional<NodeEvent> event_;
  Membership members_;
  std::set<NodeId> held_;

  Course course_;
  Doing doing_ = Doing::kNothing;
  SimTime ends_ = kNoTime;  // what it is doing
  std::size_t phase_ = 0;
  bool decide_next_ = false;
  bool was_interrupted_ = false;

  std::vector<Entry> journal_;
  std::vector<std::size_t> step_entries_;  // of the step at hand
  std::vector<std::int64_t> samples_;      // of every step that counts
  std::vector<Checkpoint> checkpoints_;

  std::array<std::int64_t, kCauses> courses_{};
  std::int64_t steps_lost_ = 0;
  std::int64_t nodes_lost_ = 0;
  std::int64_t stored_bytes_ = 0;
  bool finished_ = false;
  std::string stopped_;
  bool over_ = false;
};

}  // namespace

JobResult run_job_step_by_step(const JobGoal& goal, const PriceSchedule& prices, FailureModel& failures,
                               RecoveryPolicy& policy) {
  return Run(goal, prices, failures, policy).run();
}

}  // namespace goodput::reference
