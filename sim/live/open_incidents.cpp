#include "sim/live/open_incidents.h"

#include <algorithm>
#include <utility>

#include "sim/live/subject_cover.h"

namespace goodput {
namespace {

// Of verdicts on one subject the higher one stays.
int rank_of(const Verdict& verdict) {
  if (has_cause(verdict)) return 2;
  return verdict.kind == kIncompleteKind || verdict.kind == kSilenceKind ? 0 : 1;
}

bool is_unexplained(const Verdict& verdict) {
  return rank_of(verdict) == 1;
}

bool is_part_of_machine(const Verdict::Subject& subject) {
  return subject.type == "worker" || subject.type == "host";
}

bool explains(const Verdict& cause, const Verdict& known, const JobLayout& layout) {
  const bool is_narrower = covers(known, cause, layout);
  if (!is_unexplained(known) || !(is_narrower || covers(cause, known, layout))) return false;
  return has_cause(cause) ||
         (is_unexplained(cause) && cause.subject.type == "worker" && known.subject.type == "job");
}

bool widens(const Verdict& fault, const Verdict& known, const JobLayout& layout) {
  const std::string& type = fault.subject.type;
  return has_cause(fault) && has_cause(known) && type != "job" && type != "stage" && type != "worker" &&
         is_part_of_machine(known.subject) && covers(fault, known, layout);
}

bool contains(const Verdict& known, const Verdict& fault, const JobLayout& layout) {
  if (!covers(known, fault, layout)) return false;
  if (!has_cause(fault)) return is_unexplained(fault) && rank_of(known) > 0;
  const std::string& type = known.subject.type;
  if (type == "job") return known.kind == fault.kind;
  return has_cause(known) && type != "stage";
}

}  // namespace

bool has_cause(const Verdict& verdict) {
  return verdict.kind != kUnexplained && verdict.kind != kSilenceKind && verdict.kind != kIncompleteKind &&
         verdict.kind != kWorseningKind;
}

Incident* OpenIncidents::find(std::string_view key) {
  const auto found = std::ranges::find(incidents_, key, &Incident::key);
  return found == incidents_.end() ? nullptr : &*found;
}
const Incident* OpenIncidents::find(std::string_view key) const {
  const auto found = std::ranges::find(incidents_, key, &Incident::key);
  return found == incidents_.end() ? nullptr : &*found;
}

std::string OpenIncidents::add(Incident incident, const JobLayout& layout, IncidentChanges& changes) {
  const Verdict& verdict = incident.verdict;
  for (Incident& known : incidents_) {
    if (known.verdict.subject != verdict.subject) continue;
    const bool is_higher = rank_of(verdict) > rank_of(known.verdict);
    join(known, std::move(incident), is_higher, changes);
    return known.key;
  }
  std::vector<std::string> same;
  for (const Incident& known : incidents_) {
    if (explains(verdict, known.verdict, layout) || widens(verdict, known.verdict, layout))
      same.push_back(known.key);
  }
  if (!same.empty()) {
    Incident& kept = *find(same.front());
    std::string key = kept.key;
    same.erase(same.begin());
    const StepId at = incident.opened_at;
    const double at_s = incident.opened_s;
    for (const std::string& other : same) take_over(*find(other), kept);
    join(kept, std::move(incident), true, changes);
    for (const std::string& other : same) {
      find(other)->merged_into = key;
      close(other, at, at_s, "", changes);
    }
    return key;
  }
  for (Incident& known : incidents_) {
    if (!contains(known.verdict, verdict, layout)) continue;
    join(known, std::move(incident), false, changes);
    return known.key;
  }
  incident.key = incident_key(incident.job, incident.verdict.subject, incident.opened_at);
  incidents_.push_back(incident);
  changes.push_back({std::move(incident), IncidentEvent::kOpens});
  return incidents_.back().key;
}

void OpenIncidents::join(Incident& known, Incident&& incident, bool replaces_verdict,
                         IncidentChanges& changes) {
  const bool is_more_severe = incident.severity > known.severity;
  known.severity = std::max(known.severity, incident.severity);
  known.last_seen = std::max(known.last_seen, incident.last_seen);
  for (IncidentEvidence& evidence : incident.evidence) {
    const auto same = std::ranges::find_if(known.evidence, [&evidence](const IncidentEvidence& one) {
      return one.rule == evidence.rule && one.kind == evidence.kind;
    });
    if (same == known.evidence.end()) {
      known.evidence.push_back(std::move(evidence));
    } else {
      same->holds = true;
    }
  }
  if (replaces_verdict) {
    known.verdict = std::move(incident.verdict);
    known.slowdown = incident.slowdown;
    known.usd_per_day = incident.usd_per_day;
  }
  if (is_more_severe) known.muted.reset();  // who muted it did not know
  if (replaces_verdict || is_more_severe) changes.push_back({known, IncidentEvent::kChanges});
}

// What is known of an incident that merges into `kept`.
void OpenIncidents::take_over(const Incident& other, Incident& kept) {
  kept.severity = std::max(kept.severity, other.severity);
  kept.last_seen = std::max(kept.last_seen, other.last_seen);
  kept.evidence.insert(kept.evidence.end(), other.evidence.begin(), other.evidence.end());
  if (!kept.acknowledged) kept.acknowledged = other.acknowledged;
}

void OpenIncidents::close(std::string_view key, StepId at, double at_s, const std::string& by,
                          IncidentChanges& changes) {
  const auto found = std::ranges::find(incidents_, key, &Incident::key);
  if (found == incidents_.end()) return;
  Incident incident = std::move(*found);
  incidents_.erase(found);
  incident.closed_at = at;
  incident.closed_s = at_s;
  incident.closed_by = by;
  for (IncidentEvidence& evidence : incident.evidence) evidence.holds = false;
  changes.push_back({std::move(incident), IncidentEvent::kCloses});
}

}  // namespace goodput
