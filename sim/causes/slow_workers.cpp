#include "sim/causes/slow_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/recording/op_labels.h"

namespace goodput {
namespace {

constexpr double kFaintWorker = 0.01;   // slower than peers
constexpr double kFaintReplica = 0.02;  // its steps differ by the lengths of their sequences as well
constexpr double kNecessary = 0.01;     // of the step: what a worker's repair must gain beside the others'
constexpr std::size_t kMostSuspects = 64;

using Workers = std::vector<std::size_t>;

Remedy repair_of(const Recording& recording, const Workers& workers) {
  Remedy remedy;
  for (const std::size_t worker : workers) {
    const auto [dp_rank, stage] = recording.worker(worker);
    remedy.ideal.boxes.push_back(box_of_worker(recording, dp_rank, stage));
  }
  return remedy;
}

// The slowest, at most kMostSuspects.
Workers find_suspects(const Recording& recording, const PassPace& pace) {
  std::vector<std::pair<double, std::size_t>> slow;
  for (std::size_t worker = 0; worker < pace.worker.size(); ++worker) {
    const double slower = slowness(recording, pace, worker) - 1;
    if (slower >= kFaintWorker) slow.emplace_back(-slower, worker);
  }
  std::ranges::sort(slow);
  slow.resize(std::min(slow.size(), kMostSuspects));
  Workers suspects;
  for (const auto& [slower, worker] : slow) suspects.push_back(worker);
  return suspects;
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Workers workers_of(const std::vector<SlowGroup>& groups) {
  Workers workers;
  for (const SlowGroup& group : groups) append(workers, group.workers);
  return workers;
}

std::string selector_of(const Recording& recording, std::size_t worker) {
  const auto [dp_rank, stage] = recording.worker(worker);
  return fmt::format("worker={}:{}", dp_rank, stage);
}

// Moves the workers of every name that has several, all of them in `left`, into a group a name.
void take_whole(const Recording& recording, const std::string& kind,
                const std::vector<std::string>& of_worker, std::set<std::size_t>& left,
                std::vector<SlowGroup>& groups) {
  std::map<std::string, Workers> members;
  for (std::size_t worker = 0; worker < of_worker.size(); ++worker) {
    if (!of_worker[worker].empty()) members[of_worker[worker]].push_back(worker);
  }
  for (const auto& [name, workers] : members) {
    const bool are_left =
        std::ranges::all_of(workers, [&](std::size_t worker) { return left.contains(worker); });
    if (workers.size() < 2 || !are_left) continue;
    SlowGroup group{kind, name, workers, {}};
    for (const std::size_t worker : workers) {
      group.fix.push_back(selector_of(recording, worker));
      left.erase(worker);
    }
    groups.push_back(std::move(group));
  }
}

std::vector<std::string> replica_names(const Recording& recording) {
  std::vector<std::string> names;
  for (std::size_t worker = 0; worker < recording.ranks.size(); ++worker)
    names.push_back(fmt::format("dp={}", recording.worker(worker).dp_rank));
  return names;
}

// Whole places, the largest first, whole replicas of several stages, and single workers.
std::vector<SlowGroup> group(const Recording& recording, const Workers& suspects) {
  std::set<std::size_t> left(suspects.begin(), suspects.end());
  std::vector<SlowGroup> groups;
  for (auto kind = recording.places.rbegin(); kind != recording.places.rend(); ++kind)
    take_whole(recording, kind->name, kind->of_worker, left, groups);
  if (recording.pp_size > 1) {
    const std::size_t first = groups.size();
    take_whole(recording, "replica", replica_names(recording), left, groups);
    for (std::size_t i = first; i < groups.size(); ++i) groups[i].fix = {groups[i].name};
  }
  for (const std::size_t worker : left) groups.push_back(lone_worker(recording, worker));
  return groups;
}

void sort_slowest_first(const AnalysedJob& job, const PassPace& pace, std::vector<SlowGroup>& groups) {
  const auto slowest = [&](const SlowGroup& group) {
    double most = 0;
    for (const std::size_t worker : group.workers)
      most = std::max(most, slowness(job.recording, pace, worker));
    return most;
  };
  std::ranges::stable_sort(groups, std::greater<>(), slowest);
}

// Drops the groups without whose repair the step is hardly longer, the last first; what all of them together
// cost stays below kNecessary.
SlowWorkers keep_necessary(const AnalysedJob& job, std::vector<SlowGroup> groups) {
  if (groups.empty()) return {};
  Gain gain = gain_of(job, repair_of(job.recording, workers_of(groups)));
  const double fixed_s = gain.step_s;
  for (std::size_t i = groups.size(); i-- > 0;) {
    std::vector<SlowGroup> others = groups;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Gain without = gain_of(job, repair_of(job.recording, workers_of(others)));
    if (without.step_s - fixed_s >= kNecessary * fixed_s) continue;
    groups = std::move(others);
    gain = without;
  }
  return {std::move(groups), gain.gain};
}

}  // namespace

SlowGroup lone_worker(const Recording& recording, std::size_t worker) {
  return {"worker", "", {worker}, {selector_of(recording, worker)}};
}

bool is_replica_slow(const PassPace& pace, std::size_t dp_rank) {
  return pace.replica[dp_rank].is_slow(kFaintReplica);
}

double slowness(const Recording& recording, const PassPace& pace, std::size_t worker) {
  const auto [dp_rank, stage] = recording.worker(worker);
  if (!is_replica_slow(pace, dp_rank))
    return pace.worker[worker].is_slow(kFaintWorker) ? pace.worker[worker].mean : 1;
  return mean(pace_by_step(pace, dp_rank, stage));
}

std::vector<double> pace_by_step(const PassPace& pace, std::size_t dp_rank, std::size_t stage) {
  const auto own = pace.own.steps_of(dp_rank, stage);
  std::vector<double> series(own.begin(), own.end());
  if (!is_replica_slow(pace, dp_rank)) return series;
  for (std::size_t step = 0; step < series.size(); ++step)
    series[step] *= pace.replica_step[dp_rank * series.size() + step];
  return series;
}

SlowWorkers find_slow_workers(const AnalysedJob& job, const PassPace& pace) {
  std::vector<SlowGroup> groups = group(job.recording, find_suspects(job.recording, pace));
  sort_slowest_first(job, pace, groups);
  return keep_necessary(job, std::move(groups));
}

}  // namespace goodput
