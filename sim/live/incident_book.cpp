#include "sim/live/incident_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/live/slowdown_trend.h"
#include "sim/live/subject_cover.h"

namespace goodput {
namespace {

constexpr std::size_t kMaxWatchedIncidents = 16;  // per rule
constexpr std::int32_t kOrphanSteps = 10;
constexpr double kHoursPerDay = 24;
constexpr std::size_t kMissingSteps = 20;
constexpr std::size_t kMissingWorkers = 64;  // remembered per step
constexpr double kHiddenShare = 2;           // of gain - 1 that a rule wants of what steps show
constexpr char kAnywhere = '~';              // before the name of a cause: wherever it is

double time_of(const StepTotals& totals) {
  if (totals.finished_s > 0) return totals.finished_s;
  return totals.received_s > 0 ? totals.received_s : totals.began_s;
}

std::size_t count_of(const std::deque<bool>& seen) {
  return static_cast<std::size_t>(std::ranges::count(seen, true));
}

SeenSteps seen_steps(const WatchedSubject& subject) {
  return {count_of(subject.seen), subject.seen.size()};
}

// As many as the longest rule looks back at, within bounds: they are stored with every step.
std::size_t remembered_steps(const AlertRules& rules) {
  constexpr std::int32_t kMin = 20;
  constexpr std::int32_t kMax = 100;
  std::int32_t longest = kMin;
  const auto look = [&longest](const auto& rule) {
    if constexpr (requires { rule.patience; }) longest = std::max(longest, rule.patience.window());
  };
  for (const AlertRule& rule : rules) std::visit(look, rule.condition);
  return static_cast<std::size_t>(std::min(longest, kMax));
}

Sighting against(const AlertLevel& level, double value) {
  return {value > level.above, value < level.closes()};
}

std::string worker_key(const WorkerPlace& place) {
  return fmt::format("worker:{}:{}", place.dp_rank, place.stage);
}
std::string worker_key(const Verdict::Worker& worker) {
  return fmt::format("worker:{}:{}", worker.dp, worker.stage);
}

std::size_t worker_at(const Verdict::Worker& worker, const JobLayout& layout) {
  return worker.dp * static_cast<std::size_t>(layout.pp_size) + worker.stage;
}

bool is_in(const Verdict::Worker& worker, const JobLayout& layout) {
  return worker.dp < static_cast<std::size_t>(layout.dp_size) &&
         worker.stage < static_cast<std::size_t>(layout.pp_size);
}

// The subject itself, or a worker whose host, replica or link is slow.
bool is_about(const Verdict& fault, const std::string& key) {
  if (fault.subject.key == key) return true;
  if (fault.subject.type == "job" || fault.subject.type == "stage") return false;
  return std::ranges::any_of(fault.workers,
                             [&key](const Verdict::Worker& worker) { return worker_key(worker) == key; });
}

// Whether the job no longer has what the incident is about, or has it on another host.
bool has_moved(const Verdict& verdict, const JobLayout& layout) {
  const std::string& type = verdict.subject.type;
  if (type != "worker" && type != "host") return false;
  const auto is_elsewhere = [&layout](const Verdict::Worker& worker) {
    if (!is_in(worker, layout)) return true;
    const std::string host = place_of(layout, worker_at(worker, layout)).host;
    return !worker.host.empty() && !host.empty() && worker.host != host;
  };
  return !verdict.workers.empty() && std::ranges::all_of(verdict.workers, is_elsewhere);
}

// Names of where a worker is; empty: unknown.
std::string host_name(const Verdict::Worker& worker, const JobLayout& layout) {
  return is_in(worker, layout) ? place_of(layout, worker_at(worker, layout)).host : "";
}
std::string replica_name(const Verdict::Worker& worker, const JobLayout& /*layout*/) {
  return std::to_string(worker.dp);
}
std::string stage_name(const Verdict::Worker& worker, const JobLayout& /*layout*/) {
  return std::to_string(worker.stage);
}

using PlaceName = std::string (*)(const Verdict::Worker&, const JobLayout&);
constexpr std::pair<const char*, PlaceName> kPlaces[] = {
    {"host", host_name}, {"replica", replica_name}, {"stage", stage_name}};

// What faults of one kind that differ from step to step share.
Verdict::Subject shared_subject(const std::vector<const Verdict*>& faults, const JobLayout& layout) {
  for (const auto& [type, name_of_place] : kPlaces) {
    std::optional<std::string> shared;
    bool is_shared = true;
    for (const Verdict* fault : faults) {
      is_shared = is_shared && !fault->workers.empty();
      for (const Verdict::Worker& worker : fault->workers) {
        const std::string key = name_of_place(worker, layout);
        is_shared = is_shared && !key.empty() && shared.value_or(key) == key;
        shared = key;
      }
    }
    if (is_shared && shared) return {type, fmt::format("{}:{}", type, *shared)};
  }
  return {"job", "job"};
}

// Slow machines make passes slow: their pace shows whether they are well.
bool is_of_passes(const std::string& kind) {
  return kind == "worker-fault" || kind == "slow-replica" || kind == "slow-host" || kind == "slow-switch" ||
         kind == "slow-rack";
}

std::vector<Verdict::Worker> distinct_workers(const std::vector<const Verdict*>& faults) {
  std::vector<Verdict::Worker> workers;
  for (const Verdict* fault : faults) {
    for (const Verdict::Worker& worker : fault->workers) {
      if (std::ranges::find(workers, worker) == workers.end()) workers.push_back(worker);
    }
  }
  return workers;
}

double gain_of(const Incident& incident) {
  return incident.verdict.cost ? incident.verdict.cost->gain : 1;
}

}  // namespace

IncidentBook::IncidentBook(AlertRules rules, IncidentContext context)
    : context_(std::move(context)), recent_(remembered_steps(rules)) {
  for (AlertRule& rule : rules) watches_.push_back({std::move(rule), {}, {}, {}});
}

IncidentChanges IncidentBook::take(const StepResult& step) {
  IncidentChanges changes;
  const StepTotals& totals = step.totals;
  if (const double time_s = time_of(totals); time_s > 0) time_s_ = time_s;
  silent_s_ = 0;
  for (RuleWatch& watch : watches_) {
    if (std::holds_alternative<SilenceRule>(watch.rule.condition)) watch.subjects.clear();
  }
  if (has_step_ && totals.id.run < latest_.run) {  // of a run that is over
    settle(changes);
    return changes;
  }
  if (has_step_ && totals.id.run > latest_.run) begin_run();
  latest_ = totals.id;
  has_step_ = true;
  if (totals.status == StepStatus::kAnalysed) {
    layout_ = step.layout;
    has_layout_ = true;
    close_moved(changes);
    recent_.add(recent_step_of(step));
  }
  if (totals.status == StepStatus::kIncomplete) {
    missing_.push_back(step.missing);
    if (step.missing.size() > kMissingWorkers) missing_.back().resize(kMissingWorkers);
    if (missing_.size() > kMissingSteps) missing_.pop_front();
  }
  // Other rules ask which causes are open.
  for (const bool is_for_causes : {true, false}) {
    for (RuleWatch& watch : watches_) {
      if (std::holds_alternative<CauseRule>(watch.rule.condition) == is_for_causes)
        std::visit([&](const auto& rule) { look_at(watch, rule, step, changes); }, watch.rule.condition);
    }
  }
  for (auto& [key, steps] : orphans_) ++steps;
  settle(changes);
  return changes;
}

IncidentChanges IncidentBook::wait(double waited_s, double now_s) {
  IncidentChanges changes;
  if (!has_step_) return changes;
  silent_s_ += std::max(waited_s, 0.0);
  time_s_ = now_s;
  for (RuleWatch& watch : watches_) {
    const auto* rule = std::get_if<SilenceRule>(&watch.rule.condition);
    if (rule == nullptr || silent_s_ < rule->seconds || watch.subjects.contains("")) continue;
    notice(watch, "", silence_verdict(silent_s_, latest_.step), std::nullopt, changes);
  }
  return changes;
}

IncidentChanges IncidentBook::take_hidden(const std::vector<StepFault>& faults) {
  IncidentChanges changes;
  for (const StepFault& fault : faults) {
    for (RuleWatch& watch : watches_) {
      const auto* rule = std::get_if<CauseRule>(&watch.rule.condition);
      const std::string& key = fault.verdict.subject.key;
      if (rule == nullptr || fault.gain - 1 <= kHiddenShare * (rule->level.above - 1)) continue;
      if (!concerns(fault.verdict, kAnywhere + fault.verdict.kind, *rule, "")) continue;
      notice(watch, key, fault.verdict, std::nullopt, changes);
      watch.subjects[key].is_behind = true;
      break;
    }
  }
  return changes;
}

Incident IncidentBook::explain(const std::string& key, Verdict verdict) {
  Incident* incident = incidents_.find(key);
  GOODPUT_CHECK(incident != nullptr, "no open incident has the key " + key);
  const bool is_covered = std::ranges::any_of(incidents_.all(), [&](const Incident& other) {
    return other.key != key && covers(other.verdict, verdict, layout_);
  });
  const bool is_new = incident->opened_at == latest_ && incident->verdict.subject.type == "job" &&
                      !has_cause(incident->verdict) && has_cause(verdict);
  if (!is_new || is_covered) verdict.subject = incident->verdict.subject;
  incident->verdict = std::move(verdict);
  incident->usd_per_day = usd_per_day(incident->verdict);
  if (is_new) rename(*incident);
  return *incident;
}

// Nobody knows its key yet.
void IncidentBook::rename(Incident& incident) {
  const std::string before = incident.key;
  incident.key = incident_key(context_.job, incident.verdict.subject, incident.opened_at);
  incident.page = page_of(incident.key);
  mute_as_before(incident);
  for (RuleWatch& watch : watches_) {
    for (auto& [name, subject] : watch.subjects) {
      if (subject.incident == before) subject.incident = incident.key;
    }
  }
}

std::string IncidentBook::page_of(const std::string& key) const {
  return context_.pages.empty() ? "" : fmt::format("{}/incidents/{}", context_.pages, key);
}

void IncidentBook::mark_told(std::string_view key) {
  if (Incident* incident = incidents_.find(key)) incident->is_told = true;
}

bool IncidentBook::acknowledge(std::string_view key, IncidentMark mark) {
  Incident* incident = incidents_.find(key);
  if (incident == nullptr) return false;
  incident->acknowledged = std::move(mark);
  return true;
}

bool IncidentBook::mute(std::string_view key, IncidentMute mute) {
  Incident* incident = incidents_.find(key);
  if (incident == nullptr) return false;
  const std::string& subject = incident->verdict.subject.key;
  std::erase_if(mutes_, [&](const SubjectMute& one) {
    return one.subject == subject || one.mute.until_s <= mute.at_s;
  });
  mutes_.push_back({subject, incident->severity, mute});
  incident->muted = std::move(mute);
  return true;
}

std::optional<IncidentChange> IncidentBook::end(std::string_view key, const IncidentMark& mark) {
  const Incident* incident = incidents_.find(key);
  if (incident == nullptr) return std::nullopt;
  const std::string anywhere = kAnywhere + incident->verdict.kind;
  for (RuleWatch& watch : watches_) {
    if (std::holds_alternative<SilenceRule>(watch.rule.condition)) {
      // It stays noticed until the next step.
      for (auto& [name, subject] : watch.subjects) {
        if (subject.incident == key) subject.incident.clear();
      }
      continue;
    }
    std::erase_if(watch.subjects, [&](const auto& one) {
      return one.second.incident == key || (one.first == anywhere && one.second.incident.empty());
    });
  }
  forgotten_ = latest_;
  IncidentChanges changes;
  incidents_.close(key, latest_, mark.at_s, mark.by, changes);
  orphans_.erase(std::string(key));
  return std::move(changes.front());
}

// What was seen of another run, perhaps on other machines, says nothing about this one.
void IncidentBook::begin_run() {
  recent_.clear();
  missing_.clear();
  for (RuleWatch& watch : watches_) {
    watch.slowdowns.clear();
    watch.steps.clear();
    for (auto& [key, subject] : watch.subjects) {
      subject.seen.clear();
      subject.gone = 0;
      subject.waits = 0;
    }
    std::erase_if(watch.subjects, [](const auto& one) { return one.second.incident.empty(); });
  }
}

void IncidentBook::close_moved(IncidentChanges& changes) {
  std::vector<std::string> moved;
  for (const Incident& incident : incidents_.all()) {
    if (has_moved(incident.verdict, layout_)) moved.push_back(incident.key);
  }
  for (const std::string& key : moved) forget(key, changes);
}

// ---- What each rule looks at.

void IncidentBook::look_at(RuleWatch& watch, const SlowdownRule& rule, const StepResult& step,
                           IncidentChanges& changes) {
  if (step.totals.status != StepStatus::kAnalysed) return;
  if (!count(watch, "", against(rule.level, step.totals.slowdown), rule.patience)) return;
  if (is_slowness_explained() || waits_for_cause(watch.subjects[""])) return;
  const WatchedSubject& subject = watch.subjects[""];
  const double slowdown = mean_over(subject, &RecentStep::slowdown);
  const double lost_s = mean_over(subject, &RecentStep::lost_s);
  notice(watch, "", straggling_verdict(slowdown, lost_s, seen_steps(subject)), slowdown, changes);
}

void IncidentBook::look_at(RuleWatch& watch, const CauseRule& rule, const StepResult& step,
                           IncidentChanges& changes) {
  if (step.totals.status != StepStatus::kAnalysed) return;
  std::vector<std::string> keys;
  for (const auto& [key, subject] : watch.subjects) keys.push_back(key);
  for (const StepFault& fault : step.faults) {
    if (!rule.cause.empty() && rule.cause != fault.verdict.kind) continue;
    for (const std::string& key : {fault.verdict.subject.key, kAnywhere + fault.verdict.kind}) {
      if (std::ranges::find(keys, key) != keys.end()) continue;
      keys.push_back(key);
      look_back(watch, rule, key);
    }
  }
  // Wide subjects first, so that a host's workers join it; causes without a place last.
  std::ranges::stable_sort(keys, {}, [](const std::string& key) {
    if (key.front() == kAnywhere) return 2;
    return key.starts_with("worker:") ? 1 : 0;
  });
  for (const std::string& key : keys) {
    const Sighting sighting = sighting_of(watch.subjects[key], key, rule, step);
    if (!count(watch, key, sighting, rule.patience)) continue;
    const SeenSteps seen = seen_steps(watch.subjects[key]);
    notice(watch, key, verdict_on_cause(key, rule, seen),
           mean_over(watch.subjects[key], &RecentStep::slowdown), changes);
  }
}

void IncidentBook::look_at(RuleWatch& watch, const WorkerRule& rule, const StepResult& step,
                           IncidentChanges& changes) {
  const StepTotals& totals = step.totals;
  if (totals.status != StepStatus::kAnalysed || totals.worst_worker >= step.layout.workers()) return;
  const WorkerPlace worst = place_of(step.layout, totals.worst_worker);
  const std::string worst_key = worker_key(worst);
  std::map<std::string, Sighting> sightings;
  for (std::size_t worker = 0; worker < step.layout.workers(); ++worker) {
    const std::string key = worker_key(place_of(step.layout, worker));
    if (!watch.subjects.contains(key)) continue;
    const double slowdown = slowdown_of(step, worker).value_or(1);
    sightings[key] = {false, slowdown < rule.level.closes()};
  }
  for (const auto& [key, subject] : watch.subjects) sightings.try_emplace(key);
  sightings[worst_key] = against(rule.level, totals.worst_slowdown);
  for (const auto& [key, sighting] : sightings) {
    if (!count(watch, key, sighting, rule.patience)) continue;
    WatchedSubject& subject = watch.subjects[key];
    if (waits_for_cause(subject)) continue;
    notice(watch, key, worst_worker_verdict(worst, seen_steps(subject)),
           mean_over(subject, &RecentStep::slowdown), changes);
  }
}

// Any step ends silence: take() has seen to that.
void IncidentBook::look_at(RuleWatch& /*watch*/, const SilenceRule& /*rule*/, const StepResult& /*step*/,
                           IncidentChanges& /*changes*/) {}

void IncidentBook::look_at(RuleWatch& watch, const IncompleteRule& rule, const StepResult& step,
                           IncidentChanges& changes) {
  if (step.totals.status == StepStatus::kSkipped) return;
  const bool is_incomplete = step.totals.status == StepStatus::kIncomplete;
  if (!count(watch, "", {is_incomplete, !is_incomplete}, rule.patience)) return;
  notice(watch, "", incomplete_verdict(missing_, seen_steps(watch.subjects[""]), step.missing.size()),
         std::nullopt, changes);
}

void IncidentBook::look_at(RuleWatch& watch, const WorseningRule& rule, const StepResult& step,
                           IncidentChanges& changes) {
  if (step.totals.status != StepStatus::kAnalysed) return;
  const auto window = static_cast<std::size_t>(rule.steps);
  watch.slowdowns.push_back(step.totals.slowdown);
  watch.steps.push_back(step.totals.id.step);
  while (watch.slowdowns.size() > window) {
    watch.slowdowns.erase(watch.slowdowns.begin());
    watch.steps.erase(watch.steps.begin());
  }
  if (watch.slowdowns.size() < window) return;
  const std::optional<SlowdownTrend> trend = find_rise(watch.slowdowns, rule.by / 2);
  const Sighting sighting{trend && trend->rise >= rule.by, !trend};
  if (!count(watch, "", sighting, {.steps = 1, .close_steps = rule.close_steps})) return;
  if (is_slowness_explained() || waits_for_cause(watch.subjects[""])) return;
  notice(watch, "", worsening_verdict(*trend, watch.steps), trend->last, changes);
}

// ---- Counting and noticing.

bool IncidentBook::count(RuleWatch& watch, const std::string& key, const Sighting& sighting,
                         const AlertPatience& patience) {
  WatchedSubject& subject = watch.subjects[key];
  subject.seen.push_back(sighting.is_there);
  while (subject.seen.size() > static_cast<std::size_t>(patience.window())) subject.seen.pop_front();
  subject.gone = sighting.is_gone ? subject.gone + 1 : 0;
  if (sighting.is_there) subject.is_behind = false;
  if (!subject.incident.empty()) {
    Incident* incident = incidents_.find(subject.incident);
    if (sighting.is_there && incident != nullptr) incident->last_seen = latest_;
    if (subject.gone >= patience.close_steps) watch.subjects.erase(key);
    return false;
  }
  const std::size_t there = count_of(subject.seen);
  if (there == 0) {
    watch.subjects.erase(key);
    return false;
  }
  const bool is_met = sighting.is_there && there >= static_cast<std::size_t>(patience.steps);
  if (!is_met) {
    subject.waits = 0;
    return false;
  }
  const auto open =
      std::ranges::count_if(watch.subjects, [](const auto& one) { return !one.second.incident.empty(); });
  return static_cast<std::size_t>(open) < kMaxWatchedIncidents;
}

// A subject that is seen for the first time may have been seen as part of another one before.
void IncidentBook::look_back(RuleWatch& watch, const CauseRule& rule, const std::string& key) {
  WatchedSubject subject;
  const auto& steps = recent_.steps();
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i].id > forgotten_) subject.seen.push_back(is_shown(steps[i], key, rule, ""));
  }
  while (subject.seen.size() >= static_cast<std::size_t>(rule.patience.window())) subject.seen.pop_front();
  watch.subjects.emplace(key, std::move(subject));
}

void IncidentBook::notice(RuleWatch& watch, const std::string& key, Verdict verdict,
                          std::optional<double> slowdown, IncidentChanges& changes) {
  Incident incident;
  incident.job = context_.job;
  incident.severity = watch.rule.severity;
  incident.evidence = {{watch.rule.name, verdict.kind, watch.rule.severity, latest_, true}};
  incident.opened_at = incident.last_seen = latest_;
  incident.opened_s = time_s_;
  incident.slowdown = slowdown;
  incident.usd_per_day = usd_per_day(verdict);
  incident.page = page_of(incident_key(context_.job, verdict.subject, incident.opened_at));
  incident.verdict = std::move(verdict);
  const std::size_t before = changes.size();
  const std::string joined = incidents_.add(std::move(incident), layout_, changes);
  mute_as_before(*incidents_.find(joined));
  for (std::size_t i = before; i < changes.size(); ++i) {
    if (changes[i].incident.key == joined) changes[i].incident.muted = incidents_.find(joined)->muted;
  }
  watch.subjects[key].incident = joined;
  watch.subjects[key].gone = 0;
  orphans_.erase(joined);
  for (std::size_t i = before; i < changes.size(); ++i) {
    if (changes[i].incident.merged_into.empty()) continue;
    for (RuleWatch& other : watches_) {
      for (auto& [name, subject] : other.subjects) {
        if (subject.incident == changes[i].incident.key) subject.incident = changes[i].incident.merged_into;
      }
    }
    orphans_.erase(changes[i].incident.key);
  }
}

// A person has muted its subject, and it is no more severe than it was then.
void IncidentBook::mute_as_before(Incident& incident) const {
  for (const SubjectMute& one : mutes_) {
    const bool applies = one.subject == incident.verdict.subject.key && incident.severity <= one.severity &&
                         time_s_ < one.mute.until_s;
    if (applies && !incident.muted) incident.muted = one.mute;
  }
}

void IncidentBook::settle(IncidentChanges& changes) {
  std::vector<std::string> over;
  for (Incident& incident : incidents_.all()) {
    bool holds = false;
    for (IncidentEvidence& evidence : incident.evidence) {
      evidence.holds = std::ranges::any_of(watches_, [&](const RuleWatch& watch) {
        return watch.rule.name == evidence.rule && watches_incident(watch, incident.key);
      });
      holds = holds || evidence.holds;
    }
    const auto orphan = orphans_.find(incident.key);
    if (!holds && (orphan == orphans_.end() || orphan->second >= kOrphanSteps)) over.push_back(incident.key);
  }
  for (const std::string& key : over) forget(key, changes);
}

// Closes it, whatever the rules see of it.
void IncidentBook::forget(const std::string& key, IncidentChanges& changes) {
  for (RuleWatch& watch : watches_) {
    std::erase_if(watch.subjects, [&key](const auto& one) { return one.second.incident == key; });
  }
  incidents_.close(key, latest_, time_s_, "", changes);
  orphans_.erase(key);
}

bool IncidentBook::watches_incident(const RuleWatch& watch, const std::string& key) {
  return std::ranges::any_of(watch.subjects, [&key](const auto& one) { return one.second.incident == key; });
}

// ---- Causes.

// `own`: the key of the incident that the subject is evidence of.
bool IncidentBook::is_shown(const RecentStep& step, const std::string& key, const CauseRule& rule,
                            const std::string& own) const {
  return std::ranges::any_of(step.faults, [&](const StepFault& fault) {
    return fault.gain > rule.level.above && concerns(fault.verdict, key, rule, own);
  });
}

bool IncidentBook::concerns(const Verdict& fault, const std::string& key, const CauseRule& rule,
                            const std::string& own) const {
  if (!rule.cause.empty() && rule.cause != fault.kind) return false;
  if (key.front() != kAnywhere) return is_about(fault, key);
  if (fault.kind != key.substr(1)) return false;
  return std::ranges::none_of(incidents_.all(), [&](const Incident& incident) {
    const Verdict& known = incident.verdict;
    return incident.key != own && has_cause(known) && covers(known, fault, layout_) &&
           (known.subject.type != "job" || known.kind == fault.kind);
  });
}

Sighting IncidentBook::sighting_of(const WatchedSubject& subject, const std::string& key,
                                   const CauseRule& rule, const StepResult& step) const {
  double gain = 0;
  for (const StepFault& fault : step.faults) {
    if (concerns(fault.verdict, key, rule, subject.incident)) gain = std::max(gain, fault.gain);
  }
  Sighting sighting = against(rule.level, gain);
  const Incident* incident = incidents_.find(subject.incident);
  if (incident != nullptr && is_hidden(subject, *incident, step, rule.level.closes()))
    sighting.is_gone = false;
  return sighting;
}

// No step has shown it, so it hides nothing.
bool IncidentBook::is_only_behind(const std::string& key) const {
  return std::ranges::any_of(watches_, [&key](const RuleWatch& watch) {
    return std::ranges::any_of(watch.subjects, [&key](const auto& one) {
      return one.second.incident == key && one.second.is_behind;
    });
  });
}

bool IncidentBook::is_hidden(const WatchedSubject& subject, const Incident& incident, const StepResult& step,
                             double level) const {
  const bool is_larger_open = std::ranges::any_of(incidents_.all(), [&](const Incident& other) {
    if (other.key == incident.key || !has_cause(other.verdict) || is_only_behind(other.key)) return false;
    if (subject.is_behind) return other.opened_at <= incident.opened_at;
    return other.opened_at >= incident.last_seen && gain_of(other) > gain_of(incident);
  });
  if (!is_larger_open) return false;
  const std::vector<Verdict::Worker>& workers = incident.verdict.workers;
  const bool has_pace =
      is_of_passes(incident.verdict.kind) && !workers.empty() &&
      std::ranges::all_of(workers, [&](const Verdict::Worker& worker) {
        return is_in(worker, layout_) && worker_at(worker, layout_) < step.worker_pace.size();
      });
  if (!has_pace) return true;
  return std::ranges::any_of(workers, [&](const Verdict::Worker& worker) {
    return step.worker_pace[worker_at(worker, layout_)] >= level;
  });
}

Verdict IncidentBook::verdict_on_cause(const std::string& key, const CauseRule& rule, SeenSteps seen) const {
  std::vector<const Verdict*> faults;  // the latest first; those on exactly this subject before others
  std::optional<std::int64_t> since;
  bool began_before = true;
  std::size_t back = 0;
  for (auto step = recent_.steps().rbegin(); step != recent_.steps().rend() && back < seen.of;
       ++step, ++back) {
    began_before = false;
    for (const StepFault& fault : step->faults) {
      if (fault.gain <= rule.level.above || !concerns(fault.verdict, key, rule, "")) continue;
      faults.push_back(&fault.verdict);
      since = step->id.step;
      began_before = true;
    }
  }
  GOODPUT_CHECK(!faults.empty(), "the latest step must show the cause");
  if (began_before && back == recent_.steps().size()) since.reset();  // as far as the steps tell, always
  const auto on_subject = [&faults](const std::string& subject) {
    return std::ranges::find_if(faults,
                                [&subject](const Verdict* one) { return one->subject.key == subject; });
  };
  Verdict verdict = *faults.front();
  if (key.front() != kAnywhere) {
    if (const auto exact = on_subject(key); exact != faults.end()) verdict = **exact;
  } else {
    std::map<std::string, std::size_t> counts;
    for (const Verdict* fault : faults) ++counts[fault->subject.key];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
    if (2 * most->second >= faults.size()) {
      verdict = **on_subject(most->first);
    } else {
      verdict.subject = shared_subject(faults, layout_);
      verdict.workers = distinct_workers(faults);
    }
  }
  if (!verdict.since_step) verdict.since_step = since;
  return verdict;
}

// Whether an incident other than unexplained slowness of the whole job accounts for it.
bool IncidentBook::is_slowness_explained() const {
  return std::ranges::any_of(incidents_.all(), [](const Incident& incident) {
    const Verdict& verdict = incident.verdict;
    if (verdict.kind == kSilenceKind || verdict.kind == kIncompleteKind) return false;
    return has_cause(verdict) || verdict.subject.type != "job";
  });
}

// Slowness waits as long as a rule may still notice a cause of it.
bool IncidentBook::waits_for_cause(WatchedSubject& subject) const {
  std::int32_t window = 0;
  bool is_pending = false;
  for (const RuleWatch& watch : watches_) {
    const auto* rule = std::get_if<CauseRule>(&watch.rule.condition);
    if (rule == nullptr) continue;
    window = std::max(window, rule->patience.window());
    is_pending = is_pending || std::ranges::any_of(watch.subjects, [](const auto& one) {
                   return one.second.incident.empty() && !one.second.seen.empty() && one.second.seen.back();
                 });
  }
  return is_pending && ++subject.waits <= window;
}

// Over the steps that show the subject, as far as they are remembered.
double IncidentBook::mean_over(const WatchedSubject& subject, double RecentStep::*figure) const {
  double sum = 0;
  std::size_t known = 0;
  const auto& steps = recent_.steps();
  for (std::size_t back = 1; back <= std::min(subject.seen.size(), steps.size()); ++back) {
    if (!subject.seen[subject.seen.size() - back]) continue;
    sum += steps[steps.size() - back].*figure;
    ++known;
  }
  GOODPUT_CHECK(known > 0, "the latest step must show the subject");
  return sum / static_cast<double>(known);
}

std::optional<double> IncidentBook::usd_per_day(const Verdict& verdict) const {
  if (!context_.gpu_hour_usd || !has_layout_) return std::nullopt;
  const double job_usd = *context_.gpu_hour_usd * kHoursPerDay * static_cast<double>(layout_.gpus());
  if (verdict.kind == kSilenceKind) return job_usd;
  return verdict.cost ? std::optional(job_usd * verdict.cost->share) : std::nullopt;
}

}  // namespace goodput
