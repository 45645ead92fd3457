// When somebody is told about a running job: rules, each of one kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/live/incident.h"

namespace goodput {

// How long something has to be there before an alert opens, and how long gone before it closes. Only steps
// that say something count: those that were skipped do not.
struct AlertPatience {
  std::int32_t steps = 5;         // an alert opens when it was there in so many
  std::int32_t of = 0;            // of the last so many; 0: as many as `steps`, one after the other
  std::int32_t close_steps = 10;  // and closes when it was gone from so many, one after the other

  [[nodiscard]] std::int32_t window() const { return of == 0 ? steps : of; }
};

// An alert opens above one level and closes below another, so that what lies in between neither opens nor
// closes any.
struct AlertLevel {
  double above = 1.1;
  std::optional<double> close_below;  // absent: four fifths of the way from 1 to `above`

  [[nodiscard]] double closes() const { return close_below.value_or(1 + 0.8 * (above - 1)); }
};

// S of a step. The paper calls a job with S >= 1.1 straggling.
struct SlowdownRule {
  AlertLevel level = {.above = 1.1, .close_below = {}};
  AlertPatience patience = {.steps = 5};
};

// What the fix of a likely cause gains; of each cause and each worker, replica or host that it is about.
struct CauseRule {
  std::string cause;  // by name (StepCause::name); empty: any
  AlertLevel level = {.above = 1.03, .close_below = {}};
  AlertPatience patience = {.steps = 5, .of = 6};
};

// The same worker costs most, step after step; of each worker.
struct WorkerRule {
  AlertLevel level = {.above = 1.03, .close_below = {}};  // slowdown that it alone causes
  AlertPatience patience = {.steps = 8, .of = 10};
};

// No step came, of a job that had some. Closes with the next one.
struct SilenceRule {
  double seconds = 600;
};

// Rows of some workers do not come.
struct IncompleteRule {
  AlertPatience patience = {.steps = 3, .of = 10};
};

// S rises over a window of steps, by a trend test (sim/live/slowdown_trend.h).
struct WorseningRule {
  double by = 0.05;  // S at the end of the window less S at its beginning, along the trend
  std::int32_t steps = 100;
  std::int32_t close_steps = 20;
};

// Of fewer the test is sure of lines only: a step up in the middle of n values has z = 3/4 sqrt(n).
inline constexpr std::int32_t kFewestTrendSteps = 50;
inline constexpr std::int32_t kMostAlertSteps = 1000;  // that any rule looks back

using AlertCondition =
    std::variant<SlowdownRule, CauseRule, WorkerRule, SilenceRule, IncompleteRule, WorseningRule>;
// In the order of the alternatives.
inline constexpr std::string_view kAlertKinds[] = {"slowdown", "cause",      "worker",
                                                   "silence",  "incomplete", "worsening"};

struct AlertRule {
  std::string name{};
  AlertCondition condition{};
  AlertSeverity severity = AlertSeverity::kWarning;

  [[nodiscard]] std::string_view kind() const { return kAlertKinds[condition.index()]; }
};
using AlertRules = std::vector<AlertRule>;

}  // namespace goodput
