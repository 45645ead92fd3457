// Where the loss of a fleet is: op types, sizes of jobs, causes, hosts.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "tools/fleet/fleet_study.h"

namespace goodput {
namespace {

// 1 for the least; equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const double rank = 0.5 * static_cast<double>(first + 1 + last);
    for (; first < last; ++first) ranks[order[first]] = rank;
  }
  return ranks;
}

std::optional<double> pearson(const std::vector<double>& a, const std::vector<double>& b) {
  const auto count = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / count;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / count;
  double both = 0;
  double of_a = 0;
  double of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    of_a += (a[i] - mean_a) * (a[i] - mean_a);
    of_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (of_a <= 0 || of_b <= 0) return std::nullopt;
  return both / std::sqrt(of_a * of_b);
}

}  // namespace

std::vector<OptypeWaste> waste_by_optype(const std::vector<const FleetJob*>& jobs,
                                         const std::vector<double>& weights) {
  struct Sum {
    std::size_t jobs = 0;
    double weight = 0;
    double waste = 0;
  };
  std::map<std::string, Sum> sums;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (const LabelledSlowdown& type : jobs[i]->by_optype) {
      Sum& sum = sums[type.label];
      ++sum.jobs;
      sum.weight += weights[i];
      sum.waste += weights[i] * (1 - 1 / type.slowdown);
    }
  }
  std::vector<OptypeWaste> types;
  for (const auto& [label, sum] : sums) {
    if (sum.weight > 0) types.push_back({label, sum.jobs, sum.waste / sum.weight});
  }
  std::stable_sort(types.begin(), types.end(),
                   [](const OptypeWaste& a, const OptypeWaste& b) { return a.waste > b.waste; });
  return types;
}

std::vector<SizeClass> slowdown_by_size(const std::vector<const FleetJob*>& jobs,
                                        const std::vector<double>& weights) {
  std::map<std::int64_t, SizeClass> classes;
  std::map<std::int64_t, double> weight_of;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const FleetJob& job = *jobs[i];
    if (!job.gpus || *job.gpus < 1) continue;
    const auto least = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(*job.gpus)));
    SizeClass& of_size = classes.try_emplace(least, SizeClass{least, 2 * least - 1, 0, 0, 0}).first->second;
    ++of_size.jobs;
    weight_of[least] += weights[i];
    of_size.mean_slowdown += weights[i] * job.slowdown;
    if (job.slowdown >= kSlowJob) of_size.slow_share += weights[i];
  }
  std::vector<SizeClass> sizes;
  for (auto& [least, of_size] : classes) {
    if (weight_of[least] <= 0) continue;
    of_size.mean_slowdown /= weight_of[least];
    of_size.slow_share /= weight_of[least];
    sizes.push_back(of_size);
  }
  return sizes;
}

std::optional<double> rank_correlation_with_size(const std::vector<const FleetJob*>& jobs) {
  std::vector<double> gpus;
  std::vector<double> slowdowns;
  for (const FleetJob* job : jobs) {
    if (!job->gpus) continue;
    gpus.push_back(static_cast<double>(*job->gpus));
    slowdowns.push_back(job->slowdown);
  }
  if (gpus.size() < 3) return std::nullopt;
  return pearson(ranks_of(gpus), ranks_of(slowdowns));
}

std::vector<CauseRecord> likely_causes(const std::vector<const FleetJob*>& jobs,
                                       const std::vector<double>& weights) {
  struct Sum {
    std::size_t jobs = 0;
    double weight = 0;
    double slowdown = 0;
    double weight_of_gains = 0;
    double gain = 0;
    double saved = 0;  // of the GPU-hours; without any, of jobs
  };
  double all_hours = 0;
  for (const FleetJob* job : jobs) all_hours += job->has_gpu_hours() ? *job->gpu_hours : 0;
  std::map<std::string, Sum> sums;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::map<std::string, std::optional<double>>
        once;  // several of a kind count as one, with the larger gain
    for (const LikelyCause& cause : jobs[i]->causes)
      once[cause.name] = std::max(once[cause.name], cause.gain);
    for (const auto& [name, gain] : once) {
      Sum& sum = sums[name];
      ++sum.jobs;
      sum.weight += weights[i];
      sum.slowdown += weights[i] * jobs[i]->slowdown;
      if (!gain) continue;
      sum.weight_of_gains += weights[i];
      sum.gain += weights[i] * *gain;
      const double cost = all_hours == 0 ? 1 : jobs[i]->has_gpu_hours() ? *jobs[i]->gpu_hours : 0;
      if (*gain > 1) sum.saved += cost * (1 - 1 / *gain);
    }
  }
  std::vector<CauseRecord> causes;
  for (const auto& [name, sum] : sums) {
    if (sum.weight <= 0) continue;
    CauseRecord cause{name, sum.jobs, sum.slowdown / sum.weight, {}, 0, {}};
    cause.saved_share = sum.saved / (all_hours == 0 ? static_cast<double>(jobs.size()) : all_hours);
    if (all_hours > 0) cause.saved_gpu_hours = sum.saved;
    if (sum.weight_of_gains > 0) cause.mean_gain = sum.gain / sum.weight_of_gains;
    causes.push_back(std::move(cause));
  }
  std::stable_sort(causes.begin(), causes.end(), [](const CauseRecord& a, const CauseRecord& b) {
    return std::tuple(a.saved_share, a.jobs) > std::tuple(b.saved_share, b.jobs);
  });
  return causes;
}

std::vector<const FleetJob*> jobs_by_cost(std::vector<const FleetJob*> jobs) {
  const auto cost = [](const FleetJob* job) {
    return std::tuple(job->has_gpu_hours() ? *job->gpu_hours * job->waste() : 0, job->waste());
  };
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](const FleetJob* a, const FleetJob* b) { return cost(a) > cost(b); });
  return jobs;
}

std::vector<HostRecord> slow_hosts(const std::vector<const FleetJob*>& jobs) {
  std::map<std::string, HostRecord> records;
  for (const FleetJob* job : jobs) {
    for (const SlowHost& slow : job->slow_hosts) {
      HostRecord& record = records[slow.host];
      record.host = slow.host;
      record.mean_slowdown = record.slow_in == 0 ? slow.slowdown : record.mean_slowdown + slow.slowdown;
      record.worst_slowdown = std::max(record.worst_slowdown, slow.slowdown);
      ++record.slow_in;
      record.jobs.push_back(job->name);
    }
  }
  for (const FleetJob* job : jobs) {
    for (const std::string& host : job->hosts) {
      if (const auto found = records.find(host); found != records.end()) ++found->second.ran_in;
    }
  }
  std::vector<HostRecord> hosts;
  for (auto& [name, record] : records) {
    record.mean_slowdown /= static_cast<double>(record.slow_in);
    hosts.push_back(std::move(record));
  }
  std::stable_sort(hosts.begin(), hosts.end(), [](const HostRecord& a, const HostRecord& b) {
    return std::tuple(a.slow_in, a.mean_slowdown) > std::tuple(b.slow_in, b.mean_slowdown);
  });
  return hosts;
}

}  // namespace goodput
