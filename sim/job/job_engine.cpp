#include "sim/job/job_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/errors.h"
#include "sim/job/job_books.h"
#include "sim/job/job_recorder.h"

namespace goodput {
namespace {

// The clock of one job: what it does and until when, which nodes there are, and when the policy is asked.
// What comes of it is in its books (JobBooks), and a recorder listens.
class JobRun {
 public:
  JobRun(const JobGoal& goal, std::span<const PricedNodes> pools, FailureModel& failures,
         RecoveryPolicy& policy, JobLog* log)
      : goal_(goal), bill_(pools), failures_(failures), policy_(policy), recorder_(log) {
    if (goal_.until) until_ = *goal_.until;
    if (const auto known = failures_.end(); known && *known < until_) {
      until_ = *known;
      at_until_ = "the node trace ends here";
    }
    GOODPUT_CHECK(until_ != kNoTime || goal_.samples || goal_.steps,
                  "a run must have a time limit or a number of samples or steps");
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
    GOODPUT_CHECK(wake_ > now_, "a policy asked to be woken again immediately");
    if (is_in_vain()) return stop_in_vain();
    respond(response);
  }

  void set_wake() {
    wake_ = policy_.wake_at();
    GOODPUT_CHECK(wake_ >= now_, "a policy asked to be woken in the past");
  }

  [[nodiscard]] SimTime activity_end() const { return activity_ == Activity::kWaiting ? kNoTime : ends_; }

  // Moves the clock. Nodes are paid for until then; those that take no part in what the job does have been
  // idle.
  void pass_to(SimTime time) {
    books_.idle(time - now_, members_.count() - working_);
    bill_.pass(now_, time);
    now_ = time;
  }

  [[nodiscard]] JobView view() const { return {now_, &members_, activity_ == Activity::kTraining}; }

  // ---- Nodes.

  void take_events() {
    while (event_ && event_->time <= now_) {
      GOODPUT_CHECK(event_->time == now_, "node events are not in order");
      members_.apply(*event_, change_);
      event_ = failures_.next();
    }
    bill_.note(change_);
  }

  void change_nodes() {
    change_.clear();
    take_events();
    result_.nodes_lost += static_cast<std::int64_t>(change_.lost.size());
    recorder_.nodes_changed(change_, members_, now_);
    const bool must_stop = loses_worker();
    const Response response = policy_.on_change(view(), change_);
    set_wake();
    GOODPUT_CHECK(response == Response::kInterrupt || !must_stop,
                  "a policy continues training with a lost node");
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
    books_.arrive(now_);
    course_ = policy_.decide(state_of_job());
    set_wake();
    ++result_.courses[static_cast<std::size_t>(course_.cause)];
    const std::int64_t lost_steps = books_.go_back_to(course_.from);
    if (course_.saves && !has_phase(TimeBucket::kCheckpointSave)) books_.save_here(course_.saved_bytes);
    recorder_.course_taken(course_, lost_steps, now_);
    was_interrupted_ = false;
    phase_ = 0;
    working_ = course_.kind == Course::Kind::kTrain ? static_cast<std::int32_t>(course_.nodes.size()) : 0;
    if (course_.kind == Course::Kind::kGiveUp) return stop("the job " + course_.reason);
    if (course_.kind == Course::Kind::kWait) return begin(Activity::kWaiting, kNoTime);
    check_workers();
    if (!result_.first_saving) {
      const auto storage = static_cast<std::size_t>(CheckpointLevel::kStorage);
      result_.first_saving = {working_, course_.checkpoints[storage].interval};
    }
    if (is_vain_decision()) {
      return stop(fmt::format("the job does not get past step {}: {} recoveries in a row made no progress",
                              best_step_, kMostVainDecisions));
    }
    next_phase();
  }

  [[nodiscard]] JobState state_of_job() const {
    JobState state{view()};
    state.step = books_.here().step;
    for (const CheckpointLevel level : {CheckpointLevel::kMemory, CheckpointLevel::kStorage})
      state.checkpoints[static_cast<std::size_t>(level)] = books_.saved_step(level);
    state.was_interrupted = was_interrupted_;
    state.samples = books_.here().samples;
    state.goal = goal_;
    if (until_ != kNoTime) state.goal.until = until_;
    return state;
  }

  // Too many of them since the job last got further than ever before.
  [[nodiscard]] bool is_vain_decision() {
    const std::int64_t step = books_.here().step;
    if (step > best_step_) vain_decisions_ = 0;
    best_step_ = std::max(best_step_, step);
    return ++vain_decisions_ > kMostVainDecisions;
  }

  [[nodiscard]] bool has_phase(TimeBucket bucket) const {
    const auto phases = course_.phases.all();
    return std::any_of(phases.begin(), phases.end(),
                       [bucket](const Phase& phase) { return phase.bucket == bucket; });
  }

  void check_workers() const {
    GOODPUT_CHECK(!course_.nodes.empty(), "a job must not train without nodes");
    GOODPUT_CHECK(std::all_of(course_.nodes.begin(), course_.nodes.end(),
                              [this](NodeId node) { return members_.contains(node); }),
                  "a job must not use nodes that do not exist");
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
    const Pace pace = policy_.pace(books_.here().step);
    GOODPUT_CHECK(pace.step > SimDuration{}, "a step must take time");
    GOODPUT_CHECK(pace.until > books_.here().step && course_.decide_at_step > books_.here().step,
                  "a policy made a plan for a step that is already over");
    GOODPUT_CHECK(course_.samples_per_step >= 0 && (course_.samples_per_step > 0 || !goal_.samples),
                  "steps must have samples");
    training_ = {books_.here().step, pace.step, course_.checkpoints};
    stretch_ = std::min({pace.until, course_.decide_at_step, last_step()}) - books_.here().step;
    begin(Activity::kTraining, kNoTime);
    set_end_of_stretch();
  }

  // The step that reaches the goal with the samples of this configuration.
  [[nodiscard]] std::int64_t last_step() const {
    std::int64_t last = goal_.steps.value_or(kNoStep);
    if (goal_.samples) {
      const std::int64_t left = *goal_.samples - books_.here().samples;
      const std::int64_t each = course_.samples_per_step;
      last = std::min(last, books_.here().step + (left + each - 1) / each);
    }
    return last;
  }
  [[nodiscard]] bool is_goal_reached() const {
    return books_.here().step >= goal_.steps.value_or(kNoStep) ||
           books_.here().samples >= goal_.samples.value_or(kNoStep);
  }

  void set_end_of_stretch() {
    SimDuration longest_step = training_.step;
    for (const CheckpointRule& rule : training_.rules) longest_step += rule.stall;
    const SimDuration left = kNoTime - began_;
    const bool surely_ends = stretch_ < left / longest_step;
    if (!surely_ends && (stretch_ >= left / training_.step || stretch_ > training_.steps_in(left))) {
      ends_ = kNoTime;  // for ever, as far as the clock goes
    } else if (books_.here().step + stretch_ == last_step()) {
      ends_ = began_ + training_.time_of_last_step(stretch_);
    } else {
      ends_ = began_ + training_.time_of(stretch_);
    }
  }

  void end_activity() {
    if (activity_ == Activity::kPhase) {
      const TimeBucket bucket = course_.phases.all()[phase_].bucket;
      spend(bucket);
      books_.arrive(now_);
      if (course_.saves && bucket == TimeBucket::kCheckpointSave) books_.save_here(course_.saved_bytes);
      ++phase_;
      return next_phase();
    }
    const bool ends_job = books_.here().step + stretch_ == last_step();
    count_steps(stretch_, ends_job ? stretch_ - 1 : stretch_, now_ - began_ - stretch_ * training_.step);
    if (is_goal_reached()) {
      result_.finished = true;
      is_over_ = true;
    } else if (decides_next_ || books_.here().step == course_.decide_at_step) {
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
    books_.arrive(now_);
    books_.drop_coming();
  }
  // A step that is done counts, whether its checkpoint is or not.
  void cut_training() {
    const std::int64_t saved = training_.steps_in(now_ - began_);
    const SimDuration rest = now_ - began_ - training_.time_of(saved);
    const std::int64_t done = saved + (rest >= training_.step ? 1 : 0);
    const SimDuration of_step = rest >= training_.step ? SimDuration{} : rest;
    count_steps(done, saved, now_ - began_ - of_step - done * training_.step);
    books_.spend(TimeBucket::kWastedProgress, of_step, working_);
  }

  // The activity up to now, which was no training.
  void spend(TimeBucket bucket) {
    books_.spend(bucket, now_ - began_, working_);
    recorder_.spent(bucket, began_, now_);
  }

  // The steps that are done of the activity, which was training.
  void count_steps(std::int64_t steps, std::int64_t saved_steps, SimDuration saving) {
    const TrainedStretch stretch{training_, steps,  saved_steps, course_.samples_per_step,
                                 working_,  began_, now_,        saving};
    recorder_.trained(stretch, books_.here());
    books_.count(stretch);
    if (steps > 0) vain_events_ = 0;
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
    return fmt::format("{}, has {}, and no more node changes are coming", why_waiting(), members_.count());
  }
  void stop_in_vain() {
    cut_activity();
    stop(fmt::format("{}; {} node changes and policy wake-ups made no progress", why_waiting(),
                     kMostVainEvents));
  }
  void stop_waiting() {
    cut_activity();
    if (activity_ == Activity::kWaiting) return stop(nothing_to_wait_for());
    stop("the job does not finish within 292 years, the longest time that the simulator can represent");
  }

  void settle() {
    result_.end = now_;
    if (result_.finished) {
      result_.horizon = now_;
    } else if (until_ != kNoTime) {
      result_.horizon = until_;
    }
    result_.steps = books_.here().step;
    result_.samples = books_.here().samples;
    result_.steps_lost = books_.steps_lost();
    result_.saves_skipped = books_.saves_skipped();
    result_.stored_bytes = books_.stored_bytes();
    result_.ledger = books_.ledger();
    result_.cost_usd = bill_.usd();
    result_.usd_by_pool = bill_.usd_by_pool();
    result_.missing_paid_time = bill_.missing_time();
    result_.metrics = policy_.metrics(result_.steps);
    result_.policy_failure = policy_.failure();
    const JobLedger& ledger = result_.ledger;
    GOODPUT_CHECK(ledger.total() == now_.time_since_epoch(), "the job's time does not add up");
    GOODPUT_CHECK(ledger.node_total() == members_.node_time(now_), "the nodes' time does not add up");
    for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
      GOODPUT_CHECK(ledger.time[i] >= SimDuration{} && ledger.node_time[i] >= 0, "a negative time was spent");
    }
    recorder_.ended(result_.stopped, now_);
  }

  const JobGoal& goal_;
  NodeBill bill_;
  FailureModel& failures_;
  RecoveryPolicy& policy_;
  JobRecorder recorder_;

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

  JobBooks books_;
  std::int64_t best_step_ = 0;
  std::int64_t vain_decisions_ = 0;
  std::int64_t vain_events_ = 0;
  bool is_over_ = false;
  JobResult result_;
};

}  // namespace

JobResult run_job(const JobGoal& goal, std::span<const PricedNodes> pools, FailureModel& failures,
                  RecoveryPolicy& policy, JobLog* log) {
  return JobRun(goal, pools, failures, policy, log).run();
}

}  // namespace goodput
