// Which incidents of a job open, change and close, step by step: the rules, what they have seen, what is
// open. Uses no clock and no file.
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
#include "sim/live/alert_rules.h"
#include "sim/live/incident.h"
#include "sim/live/open_incidents.h"
#include "sim/live/recent_steps.h"
#include "sim/live/rule_verdicts.h"
#include "sim/live/step_result.h"

namespace goodput {

// What incidents say about their job besides what its steps say.
struct IncidentContext {
  std::string job{};
  std::optional<double> gpu_hour_usd{};
  std::string pages{};  // where pages are served, without a slash at the end; empty: nowhere
};

// What a rule has seen of one subject.
struct WatchedSubject {
  std::deque<bool> seen;   // in the last steps that said something, the latest last
  std::int32_t gone = 0;   // from so many steps, the latest ones
  std::int32_t waits = 0;  // steps at which the conditions held, but a cause may yet be noticed
  bool is_behind = false;  // only the fix of a larger fault showed it; no step has yet
  std::string incident;    // the key of the open incident that it is evidence of; empty: of none
};

// Whether a step shows the subject. Neither: it is between the levels.
struct Sighting {
  bool is_there = false;
  bool is_gone = true;
};

// What a rule has seen.
struct RuleWatch {
  AlertRule rule;
  // By subject key; "" for a rule about the whole job; "~NAME" for a cause wherever it is.
  std::map<std::string, WatchedSubject> subjects;
  std::vector<double> slowdowns;    // for a trend: S in the last steps,
  std::vector<std::int64_t> steps;  // and which steps these are
};

// A rule notices something when its conditions hold; that becomes evidence of an incident (OpenIncidents says
// of which). An incident closes when none of its evidence holds.
//
// - Analyzed steps say everything; refused ones only that they are not incomplete; incomplete ones only that;
//   skipped ones only that the job lives.
// - S and its trend are noticed only while no other slowness is open, and wait for causes that are about
//   to be noticed.
// - A cause that a larger incident hides stays open: steps after that one opened that do not show it say
//   nothing, unless the workers it is about keep pace with their peers again.
// - A cause whose place differs from step to step is noticed too, and is about what these places share.
// - In a new run of the job the rules begin afresh; open incidents stay until its steps close them.
// - An incident about a worker or host closes at once when the worker moves to another host or the job no
//   longer has it.
// - An incident without evidence, as after a change of the rules, closes after 10 steps unless a rule notices
//   it again.
// - A rule watches at most 16 subjects with open incidents.
class IncidentBook {
 public:
  IncidentBook(AlertRules rules, IncidentContext context);
  // Continues where save() was. The rules may be others than then. `open`: the open incidents of the job as
  // stored. Fails on a text that save() never wrote; a state of an older schema counts as empty.
  static Result<IncidentBook> restore(AlertRules rules, IncidentContext context, std::string_view state,
                                      const std::vector<Incident>& open);
  [[nodiscard]] std::string save() const;

  // In the order in which steps are finished, each once.
  IncidentChanges take(const StepResult& step);
  // That no step of the job came for another `waited_s` until `now_s` (Unix time), and nothing of it waits to
  // be read or analyzed.
  IncidentChanges wait(double waited_s, double now_s);

  // Faults of the latest step that larger ones hide, each noticed at once by the first rule for causes that
  // looks for it, unless an incident covers it or its gain - 1 is less than twice what the rule wants: no
  // step shows it yet.
  IncidentChanges take_hidden(const std::vector<StepFault>& faults);

  // What a closer look found: replaces the verdict but for its subject. An incident about slowness of the job
  // that opened at the latest step and that no cause explained is about the subject of the cause then, with
  // the key that belongs to it. Returns the incident. REQUIRES: it is open.
  Incident explain(const std::string& key, Verdict verdict);

  // Somebody was sent a message about it.
  void mark_told(std::string_view key);

  // Done by a person. False: there is no such open incident.
  [[nodiscard]] bool acknowledge(std::string_view key, IncidentMark mark);
  // No messages about this subject until then, also if it closes and opens again.
  [[nodiscard]] bool mute(std::string_view key, IncidentMute mute);
  // It opens anew, with another key, if the rules notice it again.
  [[nodiscard]] std::optional<IncidentChange> end(std::string_view key, const IncidentMark& mark);

  [[nodiscard]] const std::vector<Incident>& open() const { return incidents_.all(); }  // the oldest first

 private:
  struct SubjectMute {
    std::string subject;
    AlertSeverity severity = AlertSeverity::kWarning;  // when it was muted
    IncidentMute mute;
  };

  Status read_state(std::string_view text);
  void begin_run();
  void close_moved(IncidentChanges& changes);
  void look_at(RuleWatch& watch, const SlowdownRule& rule, const StepResult& step, IncidentChanges& changes);
  void look_at(RuleWatch& watch, const CauseRule& rule, const StepResult& step, IncidentChanges& changes);
  void look_at(RuleWatch& watch, const WorkerRule& rule, const StepResult& step, IncidentChanges& changes);
  void look_at(RuleWatch& watch, const SilenceRule& rule, const StepResult& step, IncidentChanges& changes);
  void look_at(RuleWatch& watch, const IncompleteRule& rule, const StepResult& step,
               IncidentChanges& changes);
  void look_at(RuleWatch& watch, const WorseningRule& rule, const StepResult& step, IncidentChanges& changes);
  // Counts what the step shows of the subject. True: the conditions for noticing it hold.
  bool count(RuleWatch& watch, const std::string& key, const Sighting& sighting,
             const AlertPatience& patience);
  void look_back(RuleWatch& watch, const CauseRule& rule, const std::string& key);
  void notice(RuleWatch& watch, const std::string& key, Verdict verdict, std::optional<double> slowdown,
              IncidentChanges& changes);
  void rename(Incident& incident);
  [[nodiscard]] std::string page_of(const std::string& key) const;
  // Marks evidence that no longer holds, and closes incidents that have no other.
  void settle(IncidentChanges& changes);
  void forget(const std::string& key, IncidentChanges& changes);
  void mute_as_before(Incident& incident) const;
  [[nodiscard]] static bool watches_incident(const RuleWatch& watch, const std::string& key);

  // `own`: the key of the incident that the subject is evidence of.
  [[nodiscard]] bool is_shown(const RecentStep& step, const std::string& key, const CauseRule& rule,
                              const std::string& own) const;
  [[nodiscard]] bool concerns(const Verdict& fault, const std::string& key, const CauseRule& rule,
                              const std::string& own) const;
  [[nodiscard]] Sighting sighting_of(const WatchedSubject& subject, const std::string& key,
                                     const CauseRule& rule, const StepResult& step) const;
  [[nodiscard]] bool is_hidden(const WatchedSubject& subject, const Incident& incident,
                               const StepResult& step, double level) const;
  [[nodiscard]] Verdict verdict_on_cause(const std::string& key, const CauseRule& rule, SeenSteps seen) const;
  [[nodiscard]] bool is_only_behind(const std::string& key) const;
  [[nodiscard]] bool is_slowness_explained() const;
  bool waits_for_cause(WatchedSubject& subject) const;
  [[nodiscard]] double mean_over(const WatchedSubject& subject, double RecentStep::*figure) const;
  [[nodiscard]] std::optional<double> usd_per_day(const Verdict& verdict) const;

  IncidentContext context_;
  std::vector<RuleWatch> watches_;
  OpenIncidents incidents_;
  std::map<std::string, std::int32_t> orphans_;  // steps without evidence, by key
  std::vector<SubjectMute> mutes_;
  RecentSteps recent_;
  std::deque<std::vector<WorkerPlace>> missing_;  // some of those of the last incomplete steps
  JobLayout layout_;                              // of the latest analyzed step
  bool has_layout_ = false;
  StepId latest_;
  bool has_step_ = false;
  StepId forgotten_{-1, 0};  // steps up to here say nothing any more: somebody ended what they showed
  double time_s_ = 0;        // of the latest step or look
  double silent_s_ = 0;      // since the latest step
};

}  // namespace goodput
