#include "sim/live/incident.h"

#include <fmt/format.h>

#include "sim/base/hash.h"

namespace goodput {

IncidentState Incident::state(double now_s) const {
  if (!is_open()) return IncidentState::kClosed;
  if (is_muted(now_s)) return IncidentState::kMuted;
  return acknowledged ? IncidentState::kAcknowledged : IncidentState::kOpen;
}

std::string incident_key(std::string_view job, const Verdict::Subject& subject, StepId opened_at) {
  Hash hash;
  hash.add(job);
  hash.add(std::string_view(subject.key));
  hash.add(opened_at.run);
  hash.add(opened_at.step);
  return fmt::format("goodput-{:016x}", hash.value());
}

}  // namespace goodput
