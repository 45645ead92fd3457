// The open incidents of a job: which one a new piece of evidence belongs to, and when two are the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/live/incident.h"
#include "sim/live/step_result.h"

namespace goodput {

enum class IncidentEvent : std::uint8_t {
  kOpens,
  kChanges,  // it is about more than before, is explained, or got more severe
  kCloses,
};
inline constexpr std::string_view kIncidentEvents[] = {"opens", "changes", "closes"};

struct IncidentChange {
  Incident incident;
  IncidentEvent event = IncidentEvent::kOpens;
};
using IncidentChanges = std::vector<IncidentChange>;

// What joins, in this order:
// 1. Evidence on the subject of an open incident joins it.
// 2. A cause explains an incident that no cause explains yet if one of them covers the other: that incident
// is
//    about the cause's subject from then on.
// 3. A fault that covers a worker which is slow already widens that incident, as when a second worker of its
//    host gets slow. If it covers several incidents the oldest one remains, and the others merge into it.
// 4. A fault within a slow host, replica or link joins that incident. An incident never splits.
// 5. A worker that costs most, without a cause, joins an incident that covers it.
// Anything else is an incident of its own.
class OpenIncidents {
 public:
  // `incident`: as it would open, with one piece of evidence. Returns the key of the incident that it joined
  // or opened.
  std::string add(Incident incident, const JobLayout& layout, IncidentChanges& changes);

  // Ends it. `by`: the person who ended it, or empty.
  void close(std::string_view key, StepId at, double at_s, const std::string& by, IncidentChanges& changes);

  [[nodiscard]] Incident* find(std::string_view key);
  [[nodiscard]] const Incident* find(std::string_view key) const;
  [[nodiscard]] const std::vector<Incident>& all() const { return incidents_; }  // the oldest first
  [[nodiscard]] std::vector<Incident>& all() { return incidents_; }

 private:
  static void take_over(const Incident& other, Incident& kept);
  void join(Incident& known, Incident&& incident, bool replaces_verdict, IncidentChanges& changes);

  std::vector<Incident> incidents_;
};

// Whether a cause explains it.
[[nodiscard]] bool has_cause(const Verdict& verdict);

}  // namespace goodput
