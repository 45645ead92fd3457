// Which alerts of a job open and close, step by step: the rules, what they have seen, what is open. Knows no
// clock and no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/live/alert.h"
#include "sim/live/alert_rules.h"
#include "sim/live/recent_steps.h"
#include "sim/live/step_result.h"

namespace goodput {

// What alerts say of their job besides what its steps say.
struct AlertContext {
  std::string job{};
  std::optional<double> gpu_hour_usd{};
  std::string page{};  // link to the job's page; empty: none
};

struct AlertChanges {
  std::vector<Alert> opened;
  std::vector<Alert> closed;

  [[nodiscard]] bool empty() const { return opened.empty() && closed.empty(); }
};

// What a rule has seen of one thing it looks for: a cause, a worker, the job as a whole.
struct AlertSubject {
  std::deque<bool> seen;  // of the last steps that said something, the latest last
  std::int32_t gone = 0;  // from so many steps, the latest ones
  std::optional<Alert> open;
};

// What a step says of it. Neither: it is between the levels.
struct AlertSighting {
  bool is_there = false;
  bool is_gone = true;
};

// What a rule has seen.
struct AlertWatch {
  AlertRule rule;
  std::map<std::string, AlertSubject> subjects;  // by what they go by: "", "worker=1:2", BlamedCause::key
  std::vector<double> slowdowns;                 // of a trend: S of the last steps
  std::vector<std::int64_t> steps;               // and which these are
};

// By id, where both have one, else by rule, step, cause and worker.
[[nodiscard]] bool is_same_alert(const Alert& a, const Alert& b);

// One alert a rule and thing it is about (worker, replica, host or cause) is open at a time.
//
// What steps say: analysed ones say everything; refused ones only that they are not incomplete; incomplete
// ones only that; skipped ones only that the job lives. A new run of the job is looked at afresh: what was
// seen before it opens nothing, what is open stays open until the new run's steps close it. An alert that
// names a worker closes at once when that worker is on another host or the job has another shape, an alert of
// a rule that is no more at the next occasion. A rule has at most 16 alerts open.
//
// What is open keeps the place, cost and cause it opened with.
class AlertBook {
 public:
  AlertBook(AlertRules rules, AlertContext context);
  // Goes on where save() was. The rules may be others than then. `open`: open alerts of the job as stored;
  // those that the state does not know are closed at the next occasion. Fails on a text that save() never
  // wrote.
  static Result<AlertBook> restore(AlertRules rules, AlertContext context, std::string_view state,
                                   const std::vector<Alert>& open);
  [[nodiscard]] std::string save() const;

  // In the order in which steps are finished, each once.
  AlertChanges take(const StepResult& step);
  // That it is `now_s` (Unix time), nothing that was read waits to be analysed, and no step came. To be said
  // at least once a minute: of the time since the last time only a minute counts, so that neither a clock
  // that jumps nor a monitor that stood still is silence of the job.
  AlertChanges at(double now_s);
  // The ids of alerts that take() and at() opened.
  void stored(const std::vector<Alert>& opened);
  [[nodiscard]] std::vector<Alert> open() const;

 private:
  Status read_state(std::string_view text);
  void begin_run();
  void close_moved(const StepResult& step, AlertChanges& changes);
  void look(AlertWatch& watch, const StepResult& step, AlertChanges& changes);
  void look_at(AlertWatch& watch, const SlowdownRule& rule, const StepResult& step, AlertChanges& changes);
  void look_at(AlertWatch& watch, const CauseRule& rule, const StepResult& step, AlertChanges& changes);
  void look_at(AlertWatch& watch, const WorkerRule& rule, const StepResult& step, AlertChanges& changes);
  void look_at(AlertWatch& watch, const SilenceRule& rule, const StepResult& step, AlertChanges& changes);
  void look_at(AlertWatch& watch, const IncompleteRule& rule, const StepResult& step, AlertChanges& changes);
  void look_at(AlertWatch& watch, const WorseningRule& rule, const StepResult& step, AlertChanges& changes);
  // `make` makes the alert that opens.
  template <typename Make>
  void note(AlertWatch& watch, const std::string& key, const AlertSighting& sighting,
            const AlertPatience& patience, AlertChanges& changes, Make make);
  void close(Alert alert, AlertChanges& changes) const;
  void close_orphans(AlertChanges& changes);
  // Without a summary.
  [[nodiscard]] Alert alert_of(const AlertRule& rule, const AlertBlame& blame) const;
  [[nodiscard]] std::optional<WorkerPlace> place_of_blamed(const AlertBlame& blame) const;
  // What the GPUs of the job cost a day, where that is known.
  [[nodiscard]] std::optional<double> usd_per_day() const;
  [[nodiscard]] std::string place_and_cause(const AlertBlame& blame) const;

  AlertContext context_;
  std::vector<AlertWatch> watches_;
  std::vector<Alert> orphans_;  // open, of rules that are no more
  RecentSteps recent_;
  std::deque<std::vector<WorkerPlace>> missing_;  // some of those of the last incomplete steps
  std::optional<JobLayout> layout_;               // of the latest analysed step
  StepId latest_;
  bool has_step_ = false;
  double time_s_ = 0;    // of the latest step or look
  double silent_s_ = 0;  // since the latest step
};

}  // namespace goodput
