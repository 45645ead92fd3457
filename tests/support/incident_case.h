// An incident with everything in it.
#pragma once

#include "sim/live/incident.h"

namespace goodput {

inline Incident full_incident() {
  Incident incident;
  incident.key = "goodput-5d3f0c1e9a7b2468";
  incident.job = "llama";
  incident.severity = AlertSeverity::kError;
  incident.opened_at = {1, 340};
  incident.opened_s = 1714564800.25;  // 2024-05-01T12:00:00.250Z
  incident.last_seen = {1, 352};
  incident.evidence = {{"cause", "worker-fault", AlertSeverity::kWarning, {1, 340}, true},
                       {"incomplete", "incomplete", AlertSeverity::kError, {1, 350}, false}};
  incident.slowdown = 1.25;
  incident.usd_per_day = 1228.8;
  Verdict& verdict = incident.verdict;
  verdict.kind = "worker-fault";
  verdict.subject = {"worker", "worker:1:2"};
  verdict.workers = {{1, 2, 48, "n3"}};
  verdict.pace = 1.5;
  verdict.since_step = 336;
  verdict.cost = Verdict::Cost{12.5, 2.5, 0.2, 1.25};
  verdict.fix = {"worker=1:2"};
  verdict.next_check = "clocks & <fans>";
  verdict.sentence = "One slow worker costs this job 20.0 % of its time.";
  incident.acknowledged = IncidentMark{"ann", 1714564900};
  incident.muted = IncidentMute{"bob", 1714564910, 1714568510};
  incident.page = "http://here/incidents/goodput-5d3f0c1e9a7b2468";
  return incident;
}

inline Incident closed(Incident incident) {
  incident.closed_at = StepId{1, 400};
  incident.closed_s = incident.opened_s + 600;
  for (IncidentEvidence& evidence : incident.evidence) evidence.holds = false;
  return incident;
}

}  // namespace goodput
