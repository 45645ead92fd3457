#include "tools/fleet/monitor_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sim/base/hash.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr double kSecondsOfHour = 3600;
constexpr double kLikelyInShare = 0.5;  // of the steps

// A mean of what only some steps know.
class WeightedMean {
 public:
  void add(std::optional<double> value, double weight) {
    if (!value || weight <= 0) return;
    sum_ += weight * *value;
    weight_ += weight;
  }
  [[nodiscard]] std::optional<double> mean() const {
    if (weight_ <= 0) return std::nullopt;
    return sum_ / weight_;
  }

 private:
  double sum_ = 0;
  double weight_ = 0;
};

// Sums over steps in detail.
class StepDetails {
 public:
  // What is there of every step.
  void add_layout(const JobLayout& layout) {
    layout_ = layout;
    for (const std::string& host : layout.hosts) {
      if (!host.empty()) all_hosts_.insert(host);
    }
  }

  void add(const StepResult& step) {
    ++steps_;
    add_layout(step.layout);
    const double lost_s = step.totals.replayed_s - step.totals.ideal_s;
    m_w_.add(step.m_w, lost_s);
    m_s_.add(step.m_s, lost_s);
    correlation_.add(step.correlation, 1);
    for (const LabelledSlowdown& type : step.by_optype)
      optypes_[type.label].add(type.slowdown, step.totals.ideal_s);
    for (const StepCause& cause : step.causes) {
      if (cause.is_likely) add_cause(step, cause);
    }
  }

  void finish(FleetJob& job) const {
    job.m_w = m_w_.mean();
    job.m_s = m_s_.mean();
    job.correlation = correlation_.mean();
    job.pp_size = layout_.pp_size;
    if (layout_.gpus() > 0) job.gpus = layout_.gpus();
    for (const auto& [label, slowdown] : optypes_) {
      if (const auto mean = slowdown.mean()) job.by_optype.push_back({label, *mean});
    }
    for (const auto& [name, cause] : causes_) {
      if (is_often(cause.steps)) job.causes.push_back({name, cause.gain.mean()});
    }
    for (const auto& [host, slow] : hosts_) {
      if (is_often(slow.steps))
        job.slow_hosts.push_back({host, slow.slowdown.mean().value_or(1), slow.pace.mean().value_or(1)});
    }
    job.hosts.assign(all_hosts_.begin(), all_hosts_.end());
  }

 private:
  struct Cause {
    std::int64_t steps = 0;
    WeightedMean gain;
  };
  struct Host {
    std::int64_t steps = 0;
    WeightedMean slowdown;
    WeightedMean pace;
  };

  [[nodiscard]] bool is_often(std::int64_t steps) const {
    return static_cast<double>(steps) >= kLikelyInShare * static_cast<double>(steps_);
  }

  void add_cause(const StepResult& step, const StepCause& cause) {
    Cause& sum = causes_[cause.name];
    ++sum.steps;
    sum.gain.add(cause.gain, 1);
    if (cause.name == "communication-flap" || layout_.hosts.empty()) return;
    using Worst = std::pair<double, std::optional<double>>;  // slowdown, and pace while it is kept
    std::map<std::string, Worst> worst;                      // by host
    for (const std::size_t worker : cause.workers) {
      if (worker >= layout_.hosts.size() || worker >= step.worker_slowdown.size()) continue;
      Worst of_worker{step.worker_slowdown[worker], {}};
      if (worker < step.worker_pace.size()) of_worker.second = step.worker_pace[worker];
      Worst& of_host = worst[layout_.hosts[worker]];
      of_host = std::max(of_host, of_worker);
    }
    for (const auto& [host, of_host] : worst) {
      if (host.empty()) continue;
      Host& sums = hosts_[host];
      ++sums.steps;
      sums.slowdown.add(of_host.first, 1);
      sums.pace.add(of_host.second, 1);
    }
  }

  std::int64_t steps_ = 0;
  WeightedMean m_w_;
  WeightedMean m_s_;
  WeightedMean correlation_;
  std::map<std::string, WeightedMean> optypes_;
  std::map<std::string, Cause> causes_;
  std::map<std::string, Host> hosts_;
  std::set<std::string> all_hosts_;
  JobLayout layout_;  // of the latest step
};

std::vector<StepTotals> analysed_steps(std::vector<StepTotals> steps) {
  std::erase_if(steps, [](const StepTotals& step) {
    return step.status != StepStatus::kAnalysed || !(step.ideal_s > 0);
  });
  return steps;
}

void add_totals(const std::vector<StepTotals>& steps, FleetJob& job) {
  double recorded_s = 0;
  double replayed_s = 0;
  double ideal_s = 0;
  double lost_over_ideal = 0;  // sum of S x ideal
  for (const StepTotals& step : steps) {
    recorded_s += step.recorded_s;
    replayed_s += step.replayed_s;
    ideal_s += step.ideal_s;
    lost_over_ideal += step.slowdown * step.ideal_s;
  }
  job.slowdown = lost_over_ideal / ideal_s;
  if (recorded_s > 0) job.discrepancy = std::abs(replayed_s / recorded_s - 1);
  for (const StepTotals& step : steps) job.step_slowdown.push_back(step.slowdown / job.slowdown);
  job.steps = static_cast<std::int64_t>(steps.size());
}

// From the first step's begin to the last one's end, where the clocks tell.
std::optional<double> hours_of(const std::vector<StepTotals>& steps) {
  const auto [first, last] =
      std::minmax_element(steps.begin(), steps.end(),
                          [](const StepTotals& a, const StepTotals& b) { return a.began_s < b.began_s; });
  if (!(first->began_s > 0)) return std::nullopt;
  return (last->began_s + last->recorded_s - first->began_s) / kSecondsOfHour;
}

// Who the job is: the same database read twice is the same job.
std::uint64_t hash_of(const std::string& name, const std::vector<StepTotals>& steps) {
  Hash hash;
  hash.add(name);
  for (const StepTotals& step : steps) {
    hash.add(step.id.step);
    hash.add(step.began_s);
    hash.add(step.slowdown);
  }
  return hash.value();
}

// Evenly spread over `steps`, the nearest of `detailed` each, where there is one from there on; once each.
// REQUIRES: both ascending.
std::vector<StepId> spread_over(const std::vector<StepTotals>& steps, const std::vector<StepId>& detailed) {
  std::vector<StepId> chosen;
  const std::size_t most = std::min(kMostDetailedSteps, steps.size());
  for (std::size_t i = 0; i < most; ++i) {
    const auto next = std::lower_bound(detailed.begin(), detailed.end(), steps[i * steps.size() / most].id);
    if (next != detailed.end() && (chosen.empty() || chosen.back() != *next)) chosen.push_back(*next);
  }
  return chosen;
}

// Those of `steps` whose details were not thinned out yet.
Result<std::vector<StepId>> detailed_steps(MonitorStore& store, const std::string& job,
                                           const std::vector<StepTotals>& steps) {
  GOODPUT_TRY(const std::vector<StepId> kept, store.steps_with_details(job));
  std::vector<StepId> detailed;
  for (const StepTotals& step : steps) {
    if (std::binary_search(kept.begin(), kept.end(), step.id)) detailed.push_back(step.id);
  }
  return detailed;
}

Result<StepDetails> details_of(MonitorStore& store, const std::string& job,
                               const std::vector<StepTotals>& steps) {
  StepDetails details;
  GOODPUT_TRY(const std::vector<StepId> detailed, detailed_steps(store, job, steps));
  for (const StepId id : spread_over(steps, detailed)) {
    GOODPUT_TRY(const std::optional<StepResult> result, store.step(job, id));
    if (result) details.add(*result);
  }
  // GPUs and stages are those of the end, whatever is kept of it.
  GOODPUT_TRY(const std::optional<StepResult> last, store.step(job, steps.back().id));
  if (last) details.add_layout(last->layout);
  return details;
}

Result<FleetJob> read_monitor_job(MonitorStore& store, const JobInfo& info,
                                  const std::vector<StepTotals>& steps, const std::string& file) {
  FleetJob job;
  job.name = on_one_line(info.name);
  job.source = file;
  job.rows = hash_of(info.name, steps);
  job.restarts = info.runs - 1;
  add_totals(steps, job);
  GOODPUT_TRY(const StepDetails details, details_of(store, info.name, steps));
  details.finish(job);
  job.hours_of = HoursOf::kRun;
  if (const std::optional<double> hours = hours_of(steps); hours && job.gpus)
    job.gpu_hours = *hours * static_cast<double>(*job.gpus);
  return job;
}

}  // namespace

Result<MonitorJobs> read_monitor_jobs(MonitorStore& store, const std::string& file) {
  GOODPUT_TRY(const std::vector<JobInfo> infos, store.jobs());
  MonitorJobs read;
  if (infos.empty()) read.notes.push_back(fmt::format("{}: has no jobs yet", file));
  for (const JobInfo& info : infos) {
    StepQuery all;
    all.most = std::numeric_limits<std::int32_t>::max();
    GOODPUT_TRY(std::vector<StepTotals> totals, store.steps(info.name, all));
    const std::vector<StepTotals> steps = analysed_steps(std::move(totals));
    if (steps.empty()) {
      read.notes.push_back(
          fmt::format("{}: job {} has no analyzed steps and is left out", file, in_quotes(info.name)));
      continue;
    }
    GOODPUT_TRY(FleetJob job, read_monitor_job(store, info, steps, file));
    read.jobs.push_back(std::move(job));
  }
  return read;
}

}  // namespace goodput
