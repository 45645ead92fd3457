#include "sim/live/alert_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/live/slowdown_trend.h"

namespace goodput {
namespace {

constexpr std::size_t kMostOpenAlerts = 16;  // of a rule
constexpr double kLongestLookS = 60;
constexpr double kHoursADay = 24;
constexpr std::size_t kMissingSteps = 20;
constexpr std::size_t kMissingWorkers = 8;

double time_of(const StepTotals& totals) {
  if (totals.finished_s > 0) return totals.finished_s;
  return totals.received_s > 0 ? totals.received_s : totals.began_s;
}

std::size_t count_of(const std::deque<bool>& seen) {
  return static_cast<std::size_t>(std::ranges::count(seen, true));
}

// "3 of 10 steps", "5 steps".
std::string steps_text(const AlertSubject& subject) {
  const std::size_t count = count_of(subject.seen);
  if (count == subject.seen.size()) return fmt::format("{} step{}", count, count == 1 ? "" : "s");
  return fmt::format("{} of {} steps", count, subject.seen.size());
}

std::string means_text(const AlertSubject& subject, const AlertBlame& blame) {
  if (blame.steps == count_of(subject.seen)) return steps_text(subject);
  return fmt::format("the last {} of {}", blame.steps, steps_text(subject));
}

// So many steps are remembered as the longest rule looks at, within bounds: they are stored with every step.
std::size_t remembered_steps(const AlertRules& rules) {
  constexpr std::int32_t kFewest = 20;
  constexpr std::int32_t kMost = 100;
  std::int32_t longest = kFewest;
  const auto look = [&longest](const auto& rule) {
    if constexpr (requires { rule.patience; }) longest = std::max(longest, rule.patience.window());
  };
  for (const AlertRule& rule : rules) std::visit(look, rule.condition);
  return static_cast<std::size_t>(std::min(longest, kMost));
}

AlertSighting against(const AlertLevel& level, double value) {
  return {value > level.above, value < level.closes()};
}

std::size_t open_alerts(const AlertWatch& watch) {
  return static_cast<std::size_t>(
      std::ranges::count_if(watch.subjects, [](const auto& one) { return one.second.open.has_value(); }));
}

std::string key_of(const WorkerPlace& place) {
  return fmt::format("worker={}:{}", place.dp_rank, place.stage);
}

std::size_t worker_at(const WorkerPlace& place, const JobLayout& layout) {
  return static_cast<std::size_t>(place.dp_rank) * static_cast<std::size_t>(layout.pp_size) +
         static_cast<std::size_t>(place.stage);
}

// The workers that are missing in most of these steps; of equals the first.
std::optional<WorkerPlace> most_missing(const std::deque<std::vector<WorkerPlace>>& steps) {
  std::vector<std::pair<WorkerPlace, std::size_t>> counts;
  for (const std::vector<WorkerPlace>& step : steps) {
    for (const WorkerPlace& place : step) {
      const auto found = std::ranges::find_if(
          counts, [&place](const auto& count) { return key_of(count.first) == key_of(place); });
      if (found == counts.end()) {
        counts.emplace_back(place, 1);
      } else {
        found->first = place;
        ++found->second;
      }
    }
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  if (most == counts.end()) return std::nullopt;
  return most->first;
}

bool is_elsewhere(const WorkerPlace& place, const JobLayout& layout) {
  if (place.dp_rank >= layout.dp_size || place.stage >= layout.pp_size) return true;
  const auto worker = worker_at(place, layout);
  const std::string host = place_of(layout, worker).host;
  return !place.host.empty() && !host.empty() && place.host != host;
}

}  // namespace

bool is_same_alert(const Alert& a, const Alert& b) {
  if (a.id != 0 && b.id != 0) return a.id == b.id;
  const auto key = [](const Alert& alert) {
    return std::tuple(alert.rule, alert.opened_at, alert.cause, alert.worker ? key_of(*alert.worker) : "");
  };
  return key(a) == key(b);
}

AlertBook::AlertBook(AlertRules rules, AlertContext context)
    : context_(std::move(context)), recent_(remembered_steps(rules)) {
  for (AlertRule& rule : rules) watches_.push_back({std::move(rule), {}, {}, {}});
}

AlertChanges AlertBook::take(const StepResult& step) {
  AlertChanges changes;
  const StepTotals& totals = step.totals;
  if (const double time_s = time_of(totals); time_s > 0) time_s_ = time_s;
  silent_s_ = 0;
  if (has_step_ && totals.id.run < latest_.run) return changes;  // of a run that is over
  if (has_step_ && totals.id.run > latest_.run) begin_run();
  latest_ = totals.id;
  has_step_ = true;
  close_orphans(changes);
  if (totals.status == StepStatus::kAnalysed) {
    close_moved(step, changes);
    recent_.add(step);
  }
  if (totals.status == StepStatus::kIncomplete) {
    missing_.push_back(step.missing);
    if (step.missing.size() > kMissingWorkers) missing_.back().resize(kMissingWorkers);
    if (missing_.size() > kMissingSteps) missing_.pop_front();
  }
  for (AlertWatch& watch : watches_) look(watch, step, changes);
  return changes;
}

AlertChanges AlertBook::at(double now_s) {
  AlertChanges changes;
  if (has_step_) silent_s_ += std::clamp(now_s - time_s_, 0.0, kLongestLookS);
  time_s_ = now_s;
  if (!has_step_) return changes;
  close_orphans(changes);
  for (AlertWatch& watch : watches_) {
    const auto* rule = std::get_if<SilenceRule>(&watch.rule.condition);
    if (rule == nullptr || silent_s_ < rule->seconds || watch.subjects.contains("")) continue;
    Alert alert = alert_of(watch.rule, {});
    alert.summary = fmt::format("no step for {:.0f} s; the last one was {}", silent_s_, latest_.step);
    alert.next_check = "look whether the job still runs, and whether its logs still reach the watched folder";
    alert.usd_per_day = usd_per_day();
    watch.subjects[""].open = alert;
    changes.opened.push_back(std::move(alert));
  }
  return changes;
}

void AlertBook::stored(const std::vector<Alert>& opened) {
  const auto name = [&opened](Alert& alert) {
    if (alert.id != 0) return;
    const auto same =
        std::ranges::find_if(opened, [&alert](const Alert& stored) { return is_same_alert(stored, alert); });
    if (same != opened.end()) alert.id = same->id;
  };
  for (Alert& orphan : orphans_) name(orphan);
  for (AlertWatch& watch : watches_) {
    for (auto& [key, subject] : watch.subjects) {
      if (subject.open) name(*subject.open);
    }
  }
}

std::vector<Alert> AlertBook::open() const {
  std::vector<Alert> all = orphans_;
  for (const AlertWatch& watch : watches_) {
    for (const auto& [key, subject] : watch.subjects) {
      if (subject.open) all.push_back(*subject.open);
    }
  }
  return all;
}

// What was seen of another run, perhaps on other machines, says nothing about this one.
void AlertBook::begin_run() {
  recent_.clear();
  missing_.clear();
  for (AlertWatch& watch : watches_) {
    watch.slowdowns.clear();
    watch.steps.clear();
    for (auto& [key, subject] : watch.subjects) {
      subject.seen.clear();
      subject.gone = 0;
    }
    std::erase_if(watch.subjects, [](const auto& one) { return !one.second.open; });
  }
}

void AlertBook::close_moved(const StepResult& step, AlertChanges& changes) {
  layout_ = step.layout;
  for (AlertWatch& watch : watches_) {
    std::erase_if(watch.subjects, [&](const auto& one) {
      const std::optional<Alert>& open = one.second.open;
      if (!open || !open->worker || !is_elsewhere(*open->worker, *layout_)) return false;
      close(*open, changes);
      return true;
    });
  }
}

void AlertBook::look(AlertWatch& watch, const StepResult& step, AlertChanges& changes) {
  std::visit([&](const auto& rule) { look_at(watch, rule, step, changes); }, watch.rule.condition);
}

void AlertBook::look_at(AlertWatch& watch, const SlowdownRule& rule, const StepResult& step,
                        AlertChanges& changes) {
  if (step.totals.status != StepStatus::kAnalysed) return;
  note(watch, "", against(rule.level, step.totals.slowdown), rule.patience, changes,
       [&](const AlertSubject& subject) {
         const AlertBlame blame = recent_.blame(subject.seen);
         Alert alert = alert_of(watch.rule, blame);
         alert.summary = fmt::format("S is {:.2f}, mean of {}: {}", blame.slowdown,
                                     means_text(subject, blame), place_and_cause(blame));
         return alert;
       });
}

void AlertBook::look_at(AlertWatch& watch, const CauseRule& rule, const StepResult& step,
                        AlertChanges& changes) {
  if (step.totals.status != StepStatus::kAnalysed) return;
  std::map<std::string, AlertSighting> sightings;
  for (const auto& [key, subject] : watch.subjects) sightings.emplace(key, AlertSighting{});
  for (const BlamedCause& cause : recent_.entries().back().causes) {
    if (rule.cause.empty() || rule.cause == cause.name)
      sightings.insert_or_assign(cause.key, against(rule.level, cause.gain));
  }
  for (const auto& [key, sighting] : sightings) {
    note(watch, key, sighting, rule.patience, changes, [&, &key = key](const AlertSubject& subject) {
      const AlertBlame blame = recent_.blame_cause(subject.seen, key);
      Alert alert = alert_of(watch.rule, blame);
      alert.summary = fmt::format("{} in {}: its fix makes steps {:.2f}x faster", place_and_cause(blame),
                                  steps_text(subject), blame.gain);
      return alert;
    });
  }
}

void AlertBook::look_at(AlertWatch& watch, const WorkerRule& rule, const StepResult& step,
                        AlertChanges& changes) {
  const StepTotals& totals = step.totals;
  if (totals.status != StepStatus::kAnalysed || totals.worst_worker >= step.layout.workers()) return;
  std::map<std::string, AlertSighting> sightings;
  for (const auto& [key, subject] : watch.subjects) {
    AlertSighting& sighting = sightings[key];
    if (!subject.open || !subject.open->worker) continue;
    const WorkerPlace& place = *subject.open->worker;
    const auto worker = worker_at(place, step.layout);
    sighting.is_gone = slowdown_of(step, worker).value_or(1) < rule.level.closes();
  }
  const std::string worst = key_of(place_of(step.layout, totals.worst_worker));
  sightings.insert_or_assign(worst, against(rule.level, totals.worst_slowdown));
  for (const auto& [key, sighting] : sightings) {
    note(watch, key, sighting, rule.patience, changes, [&](const AlertSubject& subject) {
      const AlertBlame blame = recent_.blame_worker(subject.seen, totals.worst_worker);
      Alert alert = alert_of(watch.rule, blame);
      alert.summary =
          fmt::format("the same worker costs most in {}: {}", steps_text(subject), place_and_cause(blame));
      return alert;
    });
  }
}

void AlertBook::look_at(AlertWatch& watch, const SilenceRule& /*rule*/, const StepResult& /*step*/,
                        AlertChanges& changes) {
  for (const auto& [key, subject] : watch.subjects) {
    if (subject.open) close(*subject.open, changes);
  }
  watch.subjects.clear();
}

void AlertBook::look_at(AlertWatch& watch, const IncompleteRule& rule, const StepResult& step,
                        AlertChanges& changes) {
  if (step.totals.status == StepStatus::kSkipped) return;
  const bool is_incomplete = step.totals.status == StepStatus::kIncomplete;
  note(watch, "", {is_incomplete, !is_incomplete}, rule.patience, changes, [&](const AlertSubject& subject) {
    Alert alert = alert_of(watch.rule, {});
    alert.usd_per_day.reset();  // what incomplete steps lose nobody knows
    alert.worker = most_missing(missing_);
    alert.summary = fmt::format("{} incomplete", steps_text(subject));
    if (alert.worker) alert.summary += fmt::format(": rows of {} do not come", describe(*alert.worker));
    if (step.missing.size() > 1) alert.summary += fmt::format("; {} workers miss", step.missing.size());
    alert.next_check =
        "look whether that worker still writes its log, and its log reaches the watched folder";
    return alert;
  });
}

void AlertBook::look_at(AlertWatch& watch, const WorseningRule& rule, const StepResult& step,
                        AlertChanges& changes) {
  if (step.totals.status != StepStatus::kAnalysed) return;
  const auto most = static_cast<std::size_t>(rule.steps);
  watch.slowdowns.push_back(step.totals.slowdown);
  watch.steps.push_back(step.totals.id.step);
  while (watch.slowdowns.size() > most) {
    watch.slowdowns.erase(watch.slowdowns.begin());
    watch.steps.erase(watch.steps.begin());
  }
  if (watch.slowdowns.size() < most) return;
  const std::optional<SlowdownTrend> trend = find_rise(watch.slowdowns, rule.by / 2);
  const AlertSighting sighting{trend && trend->rise >= rule.by, !trend};
  note(watch, "", sighting, {.steps = 1, .close_steps = rule.close_steps}, changes,
       [&](const AlertSubject& /*subject*/) {
         constexpr std::size_t kLatest = 5;
         const AlertBlame blame = recent_.blame(std::deque<bool>(kLatest, true));
         Alert alert = alert_of(watch.rule, blame);
         alert.summary =
             fmt::format("S rose by {:.2f} to {:.2f} over {} steps, from about step {} on: {}", trend->rise,
                         trend->last, most, watch.steps[trend->onset], place_and_cause(blame));
         return alert;
       });
}

template <typename Make>
void AlertBook::note(AlertWatch& watch, const std::string& key, const AlertSighting& sighting,
                     const AlertPatience& patience, AlertChanges& changes, Make make) {
  AlertSubject& subject = watch.subjects[key];
  subject.seen.push_back(sighting.is_there);
  while (subject.seen.size() > static_cast<std::size_t>(patience.window())) subject.seen.pop_front();
  subject.gone = sighting.is_gone ? subject.gone + 1 : 0;
  const std::size_t count = count_of(subject.seen);
  if (subject.open && subject.gone >= patience.close_steps) {
    close(*std::exchange(subject.open, std::nullopt), changes);
    watch.subjects.erase(key);
    return;
  }
  if (!subject.open && count == 0) {
    watch.subjects.erase(key);
    return;
  }
  const bool opens = !subject.open && sighting.is_there && count >= static_cast<std::size_t>(patience.steps);
  if (!opens || open_alerts(watch) >= kMostOpenAlerts) return;
  subject.open = make(subject);
  subject.gone = 0;
  changes.opened.push_back(*subject.open);
}

void AlertBook::close(Alert alert, AlertChanges& changes) const {
  alert.closed_at = latest_;
  alert.closed_s = time_s_;
  changes.closed.push_back(std::move(alert));
}

void AlertBook::close_orphans(AlertChanges& changes) {
  for (Alert& orphan : orphans_) close(std::move(orphan), changes);
  orphans_.clear();
}

Alert AlertBook::alert_of(const AlertRule& rule, const AlertBlame& blame) const {
  Alert alert;
  alert.job = context_.job;
  alert.rule = rule.name;
  alert.severity = rule.severity;
  alert.opened_at = latest_;
  alert.opened_s = time_s_;
  alert.slowdown = blame.slowdown;
  alert.cause = blame.cause;
  alert.worker = place_of_blamed(blame);
  alert.worker_slowdown = blame.worker_slowdown;
  alert.cost_s_per_step = blame.lost_s;
  if (const std::optional<double> usd = usd_per_day())
    alert.usd_per_day = *usd * std::max(0.0, 1 - 1 / blame.slowdown);
  alert.next_check = blame.next_check;
  if (alert.next_check.empty())
    alert.next_check =
        "look at the worker map of these steps: a column is a stage, a row a replica, a cell a worker";
  alert.fix = blame.fix;
  alert.page = context_.page;
  return alert;
}

std::optional<WorkerPlace> AlertBook::place_of_blamed(const AlertBlame& blame) const {
  if (!layout_ || !blame.worker || *blame.worker >= layout_->workers()) return std::nullopt;
  return place_of(*layout_, *blame.worker);
}

std::optional<double> AlertBook::usd_per_day() const {
  if (!context_.gpu_hour_usd || !layout_) return std::nullopt;
  return *context_.gpu_hour_usd * kHoursADay * static_cast<double>(layout_->gpus());
}

// "worker-fault: dp 1 stage 2 (rank 140, host n17), 1.30x alone", "stage-partition: stage 3", "no likely
// cause; dp 0 stage 1 costs most, 1.04x alone".
std::string AlertBook::place_and_cause(const AlertBlame& blame) const {
  const std::optional<WorkerPlace> worker = place_of_blamed(blame);
  const std::string place = worker ? describe(*worker) : std::string();
  if (blame.cause.empty()) {
    if (place.empty()) return "no likely cause";
    return fmt::format("no likely cause; {} costs most, {:.2f}x alone", place, blame.worker_slowdown);
  }
  if (!place.empty()) {
    const std::string others = blame.others == 0 ? "" : fmt::format(" and {} more", blame.others);
    return fmt::format("{}: {}, {:.2f}x alone{}", blame.cause, place, blame.worker_slowdown, others);
  }
  return blame.stage ? fmt::format("{}: stage {}", blame.cause, *blame.stage) : blame.cause;
}

}  // namespace goodput
