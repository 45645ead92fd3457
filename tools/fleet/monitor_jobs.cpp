#include "tools/fleet/monitor_jobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
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
  void add(const StepResult& step) {
    ++steps_;
    layout_ = step.layout;
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
    for (const std::string& host : layout_.hosts) {
      if (!host.empty()) job.hosts.push_back(host);
    }
    std::sort(job.hosts.begin(), job.hosts.end());
    job.hosts.erase(std::unique(job.hosts.begin(), job.hosts.end()), job.hosts.end());
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
    std::map<std::string, std::pair<double, double>> worst;  // by host: slowdown, pace
    for (const std::size_t worker : cause.workers) {
      if (worker >= layout_.hosts.size() || worker >= step.worker_slowdown.size()) continue;
      const double pace = worker < step.worker_pace.size() ? step.worker_pace[worker] : 1;
      auto& of_host = worst[layout_.hosts[worker]];
      of_host = std::max(of_host, std::pair(step.worker_slowdown[worker], pace));
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
  JobLayout layout_;
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

Result<FleetJob> read_monitor_job(MonitorStore& store, const JobInfo& info,
                                  const std::vector<StepTotals>& steps, const std::string& file) {
  FleetJob job;
  job.name = on_one_line(info.name);
  job.source = file;
  job.rows = hash_of(info.name, steps);
  job.restarts = info.runs - 1;
  add_totals(steps, job);
  StepDetails details;
  const std::size_t looked_at = std::min(kMostDetailedSteps, steps.size());
  for (std::size_t i = 0; i < looked_at; ++i) {
    const StepTotals& step = steps[i * steps.size() / looked_at];
    GOODPUT_TRY(const std::optional<StepResult> result, store.step(info.name, step.id));
    if (result) details.add(*result);
  }
  details.finish(job);
  if (const std::optional<double> hours = hours_of(steps); hours && job.gpus)
    job.gpu_hours = *hours * static_cast<double>(*job.gpus);
  return job;
}

}  // namespace

Result<std::vector<FleetJob>> read_monitor_jobs(MonitorStore& store, const std::string& file) {
  GOODPUT_TRY(const std::vector<JobInfo> infos, store.jobs());
  std::vector<FleetJob> jobs;
  for (const JobInfo& info : infos) {
    StepQuery all;
    all.most = std::numeric_limits<std::int32_t>::max();
    GOODPUT_TRY(std::vector<StepTotals> totals, store.steps(info.name, all));
    const std::vector<StepTotals> steps = analysed_steps(std::move(totals));
    if (steps.empty()) continue;
    GOODPUT_TRY(FleetJob job, read_monitor_job(store, info, steps, file));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace goodput
