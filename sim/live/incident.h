// An incident: one fault of a running job that somebody should look at, from when it is noticed to when it is
// gone. However many rules notice it, it is one incident with one key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/verdict.h"
#include "sim/live/step_result.h"

namespace goodput {

enum class AlertSeverity : std::uint8_t { kInfo, kWarning, kError, kCritical };
inline constexpr std::string_view kAlertSeverities[] = {"info", "warning", "error", "critical"};

// Verdict::kind of what no cause explains, besides kUnexplained.
inline constexpr char kSilenceKind[] = "silence";
inline constexpr char kIncompleteKind[] = "incomplete";
inline constexpr char kWorseningKind[] = "worsening";

// A rule that notices the incident.
struct IncidentEvidence {
  std::string rule;
  std::string kind;                                  // what it notices, as Verdict::kind
  AlertSeverity severity = AlertSeverity::kWarning;  // of the rule
  StepId since;                                      // the step at which the rule's conditions were met
  bool holds = true;

  friend bool operator==(const IncidentEvidence&, const IncidentEvidence&) = default;
};

// What a person did, and when (Unix time).
struct IncidentMark {
  std::string by;
  double at_s = 0;

  friend bool operator==(const IncidentMark&, const IncidentMark&) = default;
};
struct IncidentMute {
  std::string by;
  double at_s = 0;
  double until_s = 0;

  friend bool operator==(const IncidentMute&, const IncidentMute&) = default;
};

enum class IncidentState : std::uint8_t { kOpen, kAcknowledged, kMuted, kClosed };
inline constexpr std::string_view kIncidentStates[] = {"open", "acknowledged", "muted", "closed"};

struct Incident {
  std::string key;  // incident_key(); the same for as long as the incident lasts, whatever is learned of it
  std::string job;
  AlertSeverity severity = AlertSeverity::kWarning;  // the highest of the rules that noticed it
  Verdict verdict;                                   // what it is about, what it costs, what to check
  std::vector<IncidentEvidence> evidence;            // in the order in which the rules noticed it
  StepId opened_at;                                  // if the job stands still: its last step
  double opened_s = 0;                               // Unix time
  StepId last_seen;  // the last step that shows it; later ones may hide it behind something larger
  std::optional<StepId> closed_at;
  std::optional<double> closed_s;  // absent: it is open
  std::string closed_by;           // who ended it; empty: it is open, gone, or merged
  std::string merged_into;         // the key of the incident that it turned out to be part of
  std::optional<IncidentMark> acknowledged;
  std::optional<IncidentMute> muted;
  bool is_told = false;               // somebody was sent a message about it
  std::optional<double> slowdown;     // S, mean over the steps that opened it; absent: no step shows it
  std::optional<double> usd_per_day;  // what it costs; absent: unknown, or no price of a GPU-hour is known
  std::string page;                   // link to its page; empty: no page is served

  [[nodiscard]] bool is_open() const { return !closed_s.has_value(); }
  [[nodiscard]] bool is_muted(double now_s) const { return muted && now_s < muted->until_s; }
  [[nodiscard]] IncidentState state(double now_s) const;

  friend bool operator==(const Incident&, const Incident&) = default;
};

// "goodput-" and 16 hexadecimal digits: the same for the same job, subject and opening step.
[[nodiscard]] std::string incident_key(std::string_view job, const Verdict::Subject& subject,
                                       StepId opened_at);

}  // namespace goodput
