// An alert: something about a running job that somebody should look at, from when it opens to when it closes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/live/step_result.h"

namespace goodput {

enum class AlertSeverity : std::uint8_t { kInfo, kWarning, kError, kCritical };
inline constexpr std::string_view kAlertSeverities[] = {"info", "warning", "error", "critical"};

struct Alert {
  std::int64_t id = 0;  // of the store, from 1; 0: not stored yet
  std::string job;
  std::string rule;                                  // the name of the rule that opened it
  AlertSeverity severity = AlertSeverity::kWarning;  // of the rule, when it opened
  StepId opened_at;                 // the step that made it open; of a job that stands still, its last step
  double opened_s = 0;              // Unix time
  std::optional<StepId> closed_at;  // absent: open
  std::optional<double> closed_s;

  // What was known when it opened.
  double slowdown = 1;                // S, mean over the steps that the rule looked at
  std::string cause;                  // as StepCause::name; empty: none is likely
  std::optional<WorkerPlace> worker;  // whom to look at
  double worker_slowdown = 1;
  double cost_s_per_step = 0;         // what a step loses
  std::optional<double> usd_per_day;  // absent: no price of a GPU-hour is known
  std::string summary;                // one line for people: what is wrong
  std::string next_check;             // one line for people: what to look at
  std::vector<std::string> fix;       // selectors of `goodput whatif --fix`
  // Of the latest steps together, if it is about the same cause; absent: no cause, or these say something
  // else.
  std::optional<Verdict> verdict;
  std::string page;  // link to the job's page; empty: no page is served

  [[nodiscard]] bool is_open() const { return !closed_s.has_value(); }
};

}  // namespace goodput
