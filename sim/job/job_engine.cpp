#include "sim/job/job_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/errors.h"
#include "sim/job/saved_progress.h"

namespace goodput {
namespace {

constexpr std::array kLevels = {CheckpointLevel::kMemory, CheckpointLevel::kStorage};

class JobRun {
 public:
  JobRun(const JobGoal& goal, const PriceSchedule& prices, FailureModel& failures, RecoveryPolicy& policy,
         JobLog* log)
      : goal_(goal), prices_(prices), failures_(failures), policy_(policy), log_(log) {
    if (goal_.until) until_ = *goal_.until;
    if (const auto known = failures_.end(); known && *known < until_) {
      until_ = *known;
      at_until_ = "the trace of the nodes ends here";
    }
    GOODPUT_CHECK(until_ != kNoTime || goal_.samples || goal_.steps, "a run without an end");
  }

  JobResult run() && {
    event_ = failures_.next();
    take_events();
    change_.clear();
    decide();
    while (!is_over_) advance();
    settle();
    return std::move(result_);
  }

 private:
  enum class Activity : std::uint8_t { kWaiting, kPhase, kTraining };

  // ---- Time.

  void advance() {
    const SimTime ends = activity_end();
    const SimTime event = event_ ? event_->time : kNoTime;
    if (ends <= std::min({until_, event, wake_})) {
      if (ends == kNoTime) return stop_waiting();
      pass_to(ends);
      return end_activity();
    }
    if (until_ <= std::min(event, wake_)) {
      pass_to(until_);
      cut_activity();
      const bool waits_for_ever = activity_ == Activity::kWaiting && !event_ && wake_ == kNoTime;
      return stop(waits_for_ever ? nothing_to_wait_for() : at_until_);
    }
    if (event <= wake_) {
      pass_to(event);
      return change_nodes();
    }
    pass_to(wake_);
    const Response response = policy_.on_wake(view());
    set_wake();
    GOODPUT_CHECK(wake_ > now_, "a policy wants to be woken again at once");
    if (is_in_vain()) return stop_in_vain();
    respond(response);
  }

  void set_wake() {
    wake_ = policy_.wake_at();
    GOODPUT_CHECK(wake_ >= now_, "a policy wants to be woken in the past");
  }

  [[nodiscard]] SimTime activity_end() const { return activity_ == Activity::kWaiting ? kNoTime : ends_; }

  // Nodes that do nothing, and what all of them cost.
  void pass_to(SimTime time) {
    const std::int32_t held = members_.count();
    result_.ledger.idle(time - now_, held - working_);
    if (!prices_.is_free()) result_.cost_usd += held * prices_.cost(now_, time);
    now_ = time;
  }

  [[nodiscard]] JobView view() const { return {now_, &members_, activity_ == Activity::kTraining}; }

  // ---- Nodes.

  void take_events() {
    while (event_ && event_->time <= now_) {
      GOODPUT_CHECK(event_->time == now_, "events of nodes are not in order");
      members_.apply(*event_, change_);
      event_ = failures_.next();
    }
  }

  void change_nodes() {
    change_.clear();
    take_events();
    result_.nodes_lost += static_cast<std::int64_t>(change_.lost.size());
    log_change();
    const bool must_stop = loses_worker();
    const Response response = policy_.on_change(view(), change_);
    set_wake();
    GOODPUT_CHECK(response == Response::kInterrupt || !must_stop, "a policy trains on with a lost node");
    if (is_in_vain()) return stop_in_vain();
    respond(response);
  }

  // Of changes of the nodes and wake-ups, without a step in between.
  [[nodiscard]] bool is_in_vain() {
    if (activity_ == Activity::kTraining && now_ - began_ >= training_.step) vain_events_ = 0;
    return ++vain_events_ > kMostVainEvents;
  }

  [[nodiscard]] bool loses_worker() const {
    if (working_ == 0) return false;
    return std::any_of(change_.lost.begin(), change_.lost.end(), [this](NodeId node) {
      return std::binary_search(course_.nodes.begin(), course_.nodes.end(), node);
    });
  }

  void respond(Response response) {
    if (response == Response::kIgnore) return;
    if (response == Response::kInterrupt || activity_ == Activity::kWaiting) {
      cut_activity();
      return decide();
    }
    decides_next_ = true;
    if (activity_ != Activity::kTraining) return;
    stretch_ = std::min(stretch_, training_.steps_in(now_ - began_) + 1);
    set_end_of_stretch();
  }

  // ---- What the job does.

  void decide() {
    decides_next_ = false;
    const std::int64_t stood_at = here_.step;
    saved_.arrive(now_);
    JobState state{view()};
    state.step = here_.step;
    for (const CheckpointLevel level : kLevels)
      state.checkpoints[static_cast<std::size_t>(level)] = saved_.usable(level).step;
    state.was_interrupted = was_interrupted_;
    course_ = policy_.decide(state);
    set_wake();
    ++result_.courses[static_cast<std::size_t>(course_.cause)];
    resume_from(course_.from);
    if (course_.saves && !has_phase(TimeBucket::kCheckpointSave))
      saved_.put(CheckpointLevel::kStorage, here_);
    log_course(stood_at - here_.step);
    was_interrupted_ = false;
    phase_ = 0;
    working_ = course_.kind == Course::Kind::kTrain ? static_cast<std::int32_t>(course_.nodes.size()) : 0;
    if (course_.kind == Course::Kind::kGiveUp) return stop("the job " + course_.reason);
    if (course_.kind == Course::Kind::kWait) return begin(Activity::kWaiting, kNoTime);
    check_workers();
    if (here_.step > best_step_) vain_decisions_ = 0;
    best_step_ = std::max(best_step_, here_.step);
    if (++vain_decisions_ > kMostVainDecisions) {
      return stop(fmt::format("the job gets no further than step {}: {} recoveries in a row came to nothing",
                              best_step_, kMostVainDecisions));
    }
    next_phase();
  }

  [[nodiscard]] bool has_phase(TimeBucket bucket) const {
    const auto phases = course_.phases.all();
    return std::any_of(phases.begin(), phases.end(),
                       [bucket](const Phase& phase) { return phase.bucket == bucket; });
  }

  void check_workers() const {
    GOODPUT_CHECK(!course_.nodes.empty(), "a job trains without nodes");
    GOODPUT_CHECK(course_.nodes.data() != members_.nodes().data(),
                  "a course points to the membership's own list, which will change");
    if (members_.count() == working_) {  // the usual case, quickly
      GOODPUT_CHECK(std::equal(course_.nodes.begin(), course_.nodes.end(), members_.nodes().begin()),
                    "a job uses nodes that are not there");
      return;
    }
    GOODPUT_CHECK(std::includes(members_.nodes().begin(), members_.nodes().end(), course_.nodes.begin(),
                                course_.nodes.end()),
                  "a job uses nodes that are not there");
  }

  void resume_from(ResumeFrom from) {
    if (from == ResumeFrom::kHere) return;
    const Progress& mark =
        saved_.usable(from == ResumeFrom::kMemory ? CheckpointLevel::kMemory : CheckpointLevel::kStorage);
    result_.ledger.waste(here_.productive - mark.productive, here_.node_productive - mark.node_productive);
    result_.steps_lost += here_.step - mark.step;
    here_ = mark;
    if (from == ResumeFrom::kStorage) saved_.drop_memory();
    saved_.drop_coming();
  }

  void begin(Activity activity, SimTime ends) {
    activity_ = activity;
    began_ = now_;
    ends_ = ends;
  }

  void next_phase() {
    if (phase_ < course_.phases.all().size())
      return begin(Activity::kPhase, now_ + course_.phases.all()[phase_].duration);
    if (decides_next_) return decide();
    train();
  }

  // Trains up to the next step at which something changes: the pace, the policy's mind, the end.
  void train() {
    const Pace pace = policy_.pace(here_.step);
    GOODPUT_CHECK(pace.step > SimDuration{}, "a step that takes no time");
    GOODPUT_CHECK(pace.until > here_.step && course_.decide_at_step > here_.step,
                  "a policy plans for a step that is over");
    GOODPUT_CHECK(course_.samples_per_step >= 0 && (course_.samples_per_step > 0 || !goal_.samples),
                  "steps without samples");
    training_ = {here_.step, pace.step, course_.checkpoints};
    stretch_ = std::min({pace.until, course_.decide_at_step, last_step()}) - here_.step;
    begin(Activity::kTraining, kNoTime);
    set_end_of_stretch();
  }

  // The step that reaches the goal with the samples of this configuration.
  [[nodiscard]] std::int64_t last_step() const {
    std::int64_t last = goal_.steps.value_or(kNoStep);
    if (goal_.samples) {
      const std::int64_t left = *goal_.samples - here_.samples;
      const std::int64_t each = course_.samples_per_step;
      last = std::min(last, here_.step + (left + each - 1) / each);
    }
    return last;
  }
  [[nodiscard]] bool is_goal_reached() const {
    return here_.step >= goal_.steps.value_or(kNoStep) || here_.samples >= goal_.samples.value_or(kNoStep);
  }

  void set_end_of_stretch() {
    SimDuration longest_step = training_.step;
    for (const CheckpointRule& rule : training_.rules) longest_step += rule.stall;
    const SimDuration left = kNoTime - began_;
    const bool surely_ends = stretch_ < left / longest_step;
    if (!surely_ends && (stretch_ >= left / training_.step || stretch_ > training_.steps_in(left))) {
      ends_ = kNoTime;  // for ever, as far as the clock goes
    } else if (here_.step + stretch_ == last_step()) {
      ends_ = began_ + training_.time_of_last_step(stretch_);
    } else {
      ends_ = began_ + training_.time_of(stretch_);
    }
  }

  void end_activity() {
    if (activity_ == Activity::kPhase) {
      const TimeBucket bucket = course_.phases.all()[phase_].bucket;
      spend(bucket);
      saved_.arrive(now_);
      if (course_.saves && bucket == TimeBucket::kCheckpointSave)
        saved_.put(CheckpointLevel::kStorage, here_);
      ++phase_;
      return next_phase();
    }
    count_steps(stretch_, now_ - began_ - stretch_ * training_.step);
    if (is_goal_reached()) {
      result_.finished = true;
      is_over_ = true;
    } else if (decides_next_ || here_.step == course_.decide_at_step) {
      decide();
    } else {
      train();
    }
  }

  // In the middle of it. What was being written with it is gone.
  void cut_activity() {
    if (activity_ == Activity::kTraining) {
      cut_training();
    } else if (activity_ == Activity::kPhase) {
      was_interrupted_ = true;
      spend(course_.phases.all()[phase_].bucket);
    } else {
      spend(TimeBucket::kInfrastructureRecovery);
      result_.waited += now_ - began_;
    }
    saved_.arrive(now_);
    saved_.drop_coming();
  }
  // A step that is done counts, whether its checkpoint is or not.
  void cut_training() {
    const std::int64_t saved = training_.steps_in(now_ - began_);
    const SimDuration rest = now_ - began_ - training_.time_of(saved);
    const std::int64_t done = saved + (rest >= training_.step ? 1 : 0);
    const SimDuration of_step = rest >= training_.step ? SimDuration{} : rest;
    count_steps(done, now_ - began_ - of_step - done * training_.step);
    result_.ledger.spend(TimeBucket::kWastedProgress, of_step, working_);
  }

  void spend(TimeBucket bucket) {
    result_.ledger.spend(bucket, now_ - began_, working_);
    if (log_ != nullptr && now_ > began_) {
      JobSpan span;
      span.bucket = bucket;
      log_span(span);
    }
  }

  // ---- Steps.

  void count_steps(std::int64_t steps, SimDuration saving) {
    log_training(steps, saving);
    result_.ledger.spend(TimeBucket::kProductive, steps * training_.step, working_);
    result_.ledger.spend(TimeBucket::kCheckpointSave, saving, working_);
    for (const CheckpointLevel level : kLevels) note_checkpoints(level, steps);
    saved_.arrive(now_);
    here_ = after(steps);
    if (steps > 0) vain_events_ = 0;
  }

  [[nodiscard]] Progress after(std::int64_t steps) const {
    const SimDuration time = steps * training_.step;
    return {here_.step + steps, here_.samples + steps * course_.samples_per_step, here_.productive + time,
            here_.node_productive + NodeTime{time.count()} * working_};
  }

  // The checkpoints of these steps, from the last one back to one that can be used by now.
  void note_checkpoints(CheckpointLevel level, std::int64_t steps) {
    const CheckpointRule& rule = training_.rules[static_cast<std::size_t>(level)];
    if (rule.interval == 0) return;
    const std::int64_t last = (here_.step + steps) / rule.interval * rule.interval - here_.step;
    for (std::int64_t at = last; at > 0; at -= rule.interval) {
      const SimTime arrives = began_ + training_.time_of(at) + rule.lag;
      if (arrives <= now_) return saved_.put(level, after(at));
      saved_.send(level, after(at), arrives);
    }
  }

  // ---- The end.

  void stop(std::string reason) {
    result_.stopped = std::move(reason);
    is_over_ = true;
  }

  [[nodiscard]] std::string why_waiting() const {
    return "the job " + (course_.reason.empty() ? std::string("waits") : course_.reason);
  }
  [[nodiscard]] std::string nothing_to_wait_for() const {
    return fmt::format("{}, has {}, and nothing will change any more", why_waiting(), members_.count());
  }
  void stop_in_vain() {
    cut_activity();
    stop(
        fmt::format("{}; {} changes of the nodes and wake-ups did not help", why_waiting(), kMostVainEvents));
  }
  void stop_waiting() {
    cut_activity();
    if (activity_ == Activity::kWaiting) return stop(nothing_to_wait_for());
    stop("the job does not end in the 292 years that the clock can count");
  }

  void settle() {
    result_.end = now_;
    result_.steps = here_.step;
    result_.samples = here_.samples;
    result_.metrics = policy_.metrics(here_.step);
    const JobLedger& ledger = result_.ledger;
    GOODPUT_CHECK(ledger.total() == now_.time_since_epoch(), "the job's time does not add up");
    GOODPUT_CHECK(ledger.node_total() == members_.node_time(now_), "the nodes' time does not add up");
    for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
      GOODPUT_CHECK(ledger.time[i] >= SimDuration{} && ledger.node_time[i] >= 0,
                    "less than no time was spent");
    }
    if (log_ == nullptr) return;
    JobInstant end{JobInstant::Kind::kEnd, now_};
    end.text = result_.stopped;
    log_->instants.push_back(std::move(end));
  }

  // ---- The log.

  void log_span(JobSpan span) {
    span.begin = began_;
    span.end = now_;
    span.nodes = static_cast<std::uint32_t>(log_->node_sets.size()) - 1;
    log_->spans.push_back(span);
  }
  void log_training(std::int64_t steps, SimDuration saving) {
    if (log_ == nullptr || now_ == began_) return;
    JobSpan span;
    span.first_step = here_.step;
    span.steps = steps;
    span.samples = here_.samples;
    span.samples_per_step = course_.samples_per_step;
    span.step = training_.step;
    span.saving = saving;
    log_span(span);
  }
  void log_change() {
    if (log_ == nullptr) return;
    const auto add = [this](JobInstant::Kind kind, const std::vector<NodeId>& nodes) {
      for (const NodeId node : nodes) {
        JobInstant instant{kind, now_, node};
        if (kind == JobInstant::Kind::kSpeed) instant.speed = members_.speed(node);
        log_->instants.push_back(std::move(instant));
      }
    };
    add(JobInstant::Kind::kLost, change_.lost);
    add(JobInstant::Kind::kJoined, change_.joined);
    add(JobInstant::Kind::kSpeed, change_.changed_speed);
    for (const NodeId node : change_.joined) {
      if (const double speed = members_.speed(node); speed != 1)
        log_->instants.push_back({JobInstant::Kind::kSpeed, now_, node, speed});
    }
  }
  void log_course(std::int64_t lost_steps) {
    if (log_ == nullptr) return;
    const bool waits = course_.kind != Course::Kind::kTrain;
    log_->node_sets.emplace_back(course_.nodes.begin(), waits ? course_.nodes.begin() : course_.nodes.end());
    if (course_.cause == Cause::kNone && !waits) return;
    JobInstant instant{JobInstant::Kind::kCourse, now_};
    instant.cause = course_.cause;
    instant.lost_steps = lost_steps;
    instant.text = course_.reason;
    log_->instants.push_back(std::move(instant));
  }

  const JobGoal& goal_;
  const PriceSchedule& prices_;
  FailureModel& failures_;
  RecoveryPolicy& policy_;
  JobLog* log_;

  SimTime now_{};
  SimTime until_ = kNoTime;
  std::string at_until_;
  SimTime wake_ = kNoTime;
  std::optional<NodeEvent> event_;  // the next one
  Membership members_;
  NodeChange change_;

  Course course_;
  Activity activity_ = Activity::kWaiting;
  SimTime began_{};  // the activity
  SimTime ends_ = kNoTime;
  std::size_t phase_ = 0;
  SteadyTraining training_;
  std::int64_t stretch_ = 0;   // steps until something changes
  std::int32_t working_ = 0;   // nodes
  bool decides_next_ = false;  // before the next step
  bool was_interrupted_ = false;

  Progress here_;
  SavedProgress saved_;
  std::int64_t best_step_ = 0;
  std::int64_t vain_decisions_ = 0;
  std::int64_t vain_events_ = 0;
  bool is_over_ = false;
  JobResult result_;
};

}  // namespace

double JobResult::goodput() const {
  if (end == SimTime{}) return 0;
  return to_seconds(ledger.time[index(TimeBucket::kProductive)]) / wall_s();
}

double JobResult::ettr() const {
  const SimDuration session = end.time_since_epoch() - waited;
  if (session == SimDuration{}) return 0;
  return to_seconds(ledger.time[index(TimeBucket::kProductive)]) / to_seconds(session);
}

JobResult run_job(const JobGoal& goal, const PriceSchedule& prices, FailureModel& failures,
                  RecoveryPolicy& policy, JobLog* log) {
  return JobRun(goal, prices, failures, policy, log).run();
}

}  // namespace goodput
