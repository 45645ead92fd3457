#include "sim/live/recent_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr std::size_t kNamedWorkers = 8;   // of a cause, of a step
constexpr std::size_t kNamedSubjects = 8;  // a cause with more of them is told as one
constexpr double kWorthNaming = 1.01;      // who costs less than that stands out nowhere

std::size_t stages_of(const StepResult& step) {
  return static_cast<std::size_t>(step.layout.pp_size);
}

std::string worker_selector(const StepResult& step, std::size_t worker) {
  return fmt::format("worker={}:{}", worker / stages_of(step), worker % stages_of(step));
}

// What a worker's share of a cause goes by; the cause's workers of one subject are one fault. Empty: the
// cause is one, whoever its workers are.
std::string subject_of(const StepResult& step, const StepCause& cause, std::size_t worker) {
  if (cause.name == "worker-fault") return worker_selector(step, worker);
  if (cause.name == "slow-replica") return fmt::format("dp={}", worker / stages_of(step));
  const std::vector<std::string>& hosts = step.layout.hosts;
  if (cause.name == "slow-host" && worker < hosts.size() && !hosts[worker].empty())
    return "host=" + hosts[worker];
  return "";
}

std::vector<BlamedWorker> with_slowdowns(const StepResult& step, std::span<const std::size_t> workers) {
  std::vector<BlamedWorker> blamed;
  for (const std::size_t worker : workers.first(std::min(kNamedWorkers, workers.size())))
    blamed.push_back({worker, slowdown_of(step, worker).value_or(1)});
  return blamed;
}

BlamedCause whole_cause(const StepResult& step, const StepCause& cause) {
  return {cause.name,  cause.name, cause.gain.value_or(1), with_slowdowns(step, cause.workers),
          cause.stage, cause.fix,  cause.next_check};
}

std::vector<std::string> fix_of_subject(const StepResult& step, const StepCause& cause,
                                        const std::string& subject, std::span<const std::size_t> workers) {
  if (cause.name != "slow-host") return {subject};
  std::vector<std::string> fix;
  for (const std::size_t worker : workers) fix.push_back(worker_selector(step, worker));
  return fix;
}

// Subjects in the order of their slowest worker.
std::vector<std::pair<std::string, std::vector<std::size_t>>> subjects_of(const StepResult& step,
                                                                          const StepCause& cause) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> subjects;
  std::map<std::string, std::size_t> at;
  for (const std::size_t worker : cause.workers) {
    if (worker >= step.layout.workers()) continue;
    std::string subject = subject_of(step, cause, worker);
    const auto [found, is_new] = at.emplace(subject, subjects.size());
    if (is_new) subjects.emplace_back(std::move(subject), std::vector<std::size_t>{});
    subjects[found->second].second.push_back(worker);
  }
  return subjects;
}

void add_blamed(const StepResult& step, const StepCause& cause, std::vector<BlamedCause>& all) {
  const auto subjects = subjects_of(step, cause);
  const bool is_one = subjects.empty() || subjects.size() > kNamedSubjects || subjects.front().first.empty();
  if (is_one) {
    all.push_back(whole_cause(step, cause));
    return;
  }
  for (const auto& [subject, workers] : subjects) {
    all.push_back({cause.name + " " + subject, cause.name, cause.gain.value_or(1),
                   with_slowdowns(step, workers), cause.stage, fix_of_subject(step, cause, subject, workers),
                   cause.next_check});
  }
}

// How often something is there in some steps, and how much of it.
struct Weight {
  std::size_t steps = 0;
  double sum = 0;

  [[nodiscard]] double mean() const { return sum / static_cast<double>(std::max<std::size_t>(1, steps)); }
};

// Whoever has the largest sum of value - 1; of equals the first by key. REQUIRES: weights.
template <typename Key>
typename std::map<Key, Weight>::const_iterator heaviest(const std::map<Key, Weight>& weights) {
  const auto excess = [](const Weight& weight) { return weight.sum - static_cast<double>(weight.steps); };
  return std::max_element(weights.begin(), weights.end(), [excess](const auto& a, const auto& b) {
    return excess(a.second) < excess(b.second);
  });
}

using Entries = std::vector<const RecentSteps::Entry*>;

AlertBlame means_of(const Entries& entries) {
  AlertBlame blame;
  blame.steps = entries.size();
  if (entries.empty()) return blame;
  blame.slowdown = 0;
  for (const RecentSteps::Entry* entry : entries) {
    blame.slowdown += entry->slowdown / static_cast<double>(entries.size());
    blame.lost_s += entry->lost_s / static_cast<double>(entries.size());
  }
  return blame;
}

// Calls see(cause) for each of the entries' causes that `counts(cause)`.
template <typename Counts, typename See>
void for_each_cause(const Entries& entries, Counts counts, See see) {
  for (const RecentSteps::Entry* entry : entries) {
    for (const BlamedCause& cause : entry->causes) {
      if (counts(cause)) see(cause);
    }
  }
}

// The worker of a cause that costs most over the steps that have it.
void blame_worker_of(const Entries& entries, std::string_view key, AlertBlame& blame) {
  std::map<std::size_t, Weight> workers;
  for_each_cause(
      entries, [key](const BlamedCause& cause) { return cause.key == key; },
      [&workers](const BlamedCause& cause) {
        for (const BlamedWorker& worker : cause.workers) {
          ++workers[worker.worker].steps;
          workers[worker.worker].sum += worker.slowdown;
        }
      });
  if (workers.empty()) return;
  const auto worst = heaviest(workers);
  blame.worker = worst->first;
  blame.worker_slowdown = worst->second.mean();
}

void blame_cause_of(const Entries& entries, std::string_view key, AlertBlame& blame) {
  Weight gain;
  for_each_cause(
      entries, [key](const BlamedCause& cause) { return cause.key == key; },
      [&](const BlamedCause& cause) {
        ++gain.steps;
        gain.sum += cause.gain;
        blame.cause = cause.name;
        blame.stage = cause.stage;
        blame.fix = cause.fix;
        blame.next_check = cause.next_check;
      });
  if (gain.steps == 0) return;
  blame.gain = gain.mean();
  blame_worker_of(entries, key, blame);
}

// Without a likely cause: who costs most over the steps; those of which a step says nothing cost nothing
// there.
void blame_worst_worker(const Entries& entries, AlertBlame& blame) {
  std::map<std::size_t, Weight> workers;
  for (const RecentSteps::Entry* entry : entries) {
    for (const BlamedWorker& worker : entry->worst) {
      ++workers[worker.worker].steps;
      workers[worker.worker].sum += worker.slowdown;
    }
  }
  if (workers.empty()) return;
  const auto worst = heaviest(workers);
  const auto excess = worst->second.sum - static_cast<double>(worst->second.steps);
  const double slowdown = 1 + excess / static_cast<double>(entries.size());
  if (slowdown < kWorthNaming) return;
  blame.worker = worst->first;
  blame.worker_slowdown = slowdown;
}

}  // namespace

std::optional<double> slowdown_of(const StepResult& step, std::size_t worker) {
  if (worker < step.worker_slowdown.size()) return step.worker_slowdown[worker];
  if (worker == step.totals.worst_worker && step.totals.status == StepStatus::kAnalysed)
    return step.totals.worst_slowdown;
  return std::nullopt;
}

std::vector<BlamedCause> blamed_causes(const StepResult& step) {
  std::vector<BlamedCause> all;
  for (const StepCause& cause : step.causes) {
    if (cause.is_likely) add_blamed(step, cause, all);
  }
  return all;
}

std::vector<BlamedWorker> worst_workers(const StepResult& step) {
  if (step.worker_slowdown.empty()) return {{step.totals.worst_worker, step.totals.worst_slowdown}};
  std::vector<std::size_t> order(step.worker_slowdown.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(kNamedWorkers, order.size()));
  std::ranges::partial_sort(order, middle, [&step](std::size_t a, std::size_t b) {
    return std::pair(-step.worker_slowdown[a], a) < std::pair(-step.worker_slowdown[b], b);
  });
  order.erase(middle, order.end());
  return with_slowdowns(step, order);
}

void RecentSteps::add(const StepResult& step) {
  GOODPUT_CHECK(step.totals.status == StepStatus::kAnalysed, "a step that says something");
  add(Entry{step.totals.slowdown, step.totals.lost_s(), blamed_causes(step), worst_workers(step)});
}

void RecentSteps::add(Entry entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() > most_) entries_.pop_front();
}

std::vector<const RecentSteps::Entry*> RecentSteps::among(const std::deque<bool>& seen) const {
  Entries among;
  const std::size_t known = std::min(seen.size(), entries_.size());
  for (std::size_t back = known; back > 0; --back) {
    if (seen[seen.size() - back]) among.push_back(&entries_[entries_.size() - back]);
  }
  return among;
}

AlertBlame RecentSteps::blame(const std::deque<bool>& seen) const {
  const Entries entries = among(seen);
  AlertBlame blame = means_of(entries);
  std::map<std::string, Weight> names;
  std::map<std::string, Weight> keys;
  for (const Entry* entry : entries) {
    std::map<std::string, double> gains;
    for (const BlamedCause& cause : entry->causes) gains[cause.name] = cause.gain;
    for (const auto& [name, gain] : gains) {
      ++names[name].steps;
      names[name].sum += gain;
    }
  }
  std::erase_if(names, [&entries](const auto& name) { return 2 * name.second.steps < entries.size(); });
  if (names.empty()) {
    blame_worst_worker(entries, blame);
    return blame;
  }
  const std::string& name = heaviest(names)->first;
  // Of several workers, replicas or hosts the one that is there most often, and slowest.
  for_each_cause(
      entries, [&name](const BlamedCause& cause) { return cause.name == name; },
      [&keys](const BlamedCause& cause) {
        ++keys[cause.key].steps;
        keys[cause.key].sum += cause.workers.empty() ? cause.gain : cause.workers.front().slowdown;
      });
  std::erase_if(keys, [&entries](const auto& key) { return 2 * key.second.steps < entries.size(); });
  if (keys.empty()) {  // another one in every step
    blame.cause = name;
    blame.gain = names.at(name).mean();
    return blame;
  }
  blame_cause_of(entries, heaviest(keys)->first, blame);
  blame.others = keys.size() - 1;
  return blame;
}

AlertBlame RecentSteps::blame_cause(const std::deque<bool>& seen, std::string_view key) const {
  const Entries entries = among(seen);
  AlertBlame blame = means_of(entries);
  blame_cause_of(entries, key, blame);
  return blame;
}

AlertBlame RecentSteps::blame_worker(const std::deque<bool>& seen, std::size_t worker) const {
  const Entries entries = among(seen);
  AlertBlame blame = means_of(entries);
  std::map<std::string, Weight> keys;
  const auto is_about = [worker](const BlamedCause& cause) {
    return std::ranges::any_of(cause.workers, [worker](const auto& one) { return one.worker == worker; });
  };
  for_each_cause(entries, is_about, [&keys](const BlamedCause& cause) {
    ++keys[cause.key].steps;
    keys[cause.key].sum += cause.gain;
  });
  std::erase_if(keys, [&entries](const auto& key) { return 2 * key.second.steps < entries.size(); });
  if (!keys.empty()) blame_cause_of(entries, heaviest(keys)->first, blame);
  Weight weight;
  for (const Entry* entry : entries) {
    for (const BlamedWorker& worst : entry->worst) {
      if (worst.worker != worker) continue;
      ++weight.steps;
      weight.sum += worst.slowdown;
    }
  }
  blame.worker = worker;
  blame.worker_slowdown = weight.steps == 0 ? 1 : weight.mean();
  return blame;
}

}  // namespace goodput
