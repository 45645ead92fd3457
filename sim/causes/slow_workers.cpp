#include "sim/causes/slow_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/causes/time_pattern.h"

namespace goodput {
namespace {

constexpr double kFaintWorker = 0.01;   // slower than peers
constexpr double kFaintReplica = 0.02;  // its steps differ by the lengths of their sequences as well
constexpr double kNecessary = 0.01;     // share of the step that a worker's repair must add to the others'
constexpr std::size_t kHiccupSteps = 2;
constexpr double kHiccupPace = 1.5;
constexpr double kBeyondNoise = 2;  // standard deviations of one step's pace
constexpr std::size_t kMostSuspects = 64;

using Workers = std::vector<std::size_t>;

// Brings workers to the pace of their peers.
class Repair {
 public:
  Repair(const Recording& recording, const PassPace& pace) : recording_(recording), pace_(pace) {}

  [[nodiscard]] Remedy of(const Workers& workers) {
    const auto stages = static_cast<std::size_t>(recording_.pp_size);
    std::vector<std::int32_t>& row_of_stage = remedy_.workers.row_of_stage;
    row_of_stage.assign(stages, -1);
    std::int32_t rows = 0;
    for (const std::size_t worker : workers) {
      std::int32_t& row = row_of_stage[recording_.worker(worker).stage];
      if (row < 0) row = rows++;
    }
    for (const StepBlock& block : recording_.blocks)
      remedy_.workers.of_block.emplace_back(static_cast<std::size_t>(rows) * block.shape.stride(), 1.0);
    for (const std::size_t worker : workers) add(worker);
    return std::move(remedy_);
  }

 private:
  // How many times as long as its peers the worker takes, by step; 1 if that is within noise.
  [[nodiscard]] std::vector<double> excess(std::size_t worker) const {
    const auto [dp_rank, stage] = recording_.worker(worker);
    const auto own = pace_.own.steps_of(dp_rank, stage);
    std::vector<double> series(own.begin(), own.end());
    for (double& step : series) step = step > 1 + kBeyondNoise * pace_.worker_noise ? step : 1;
    // A worker that is slow in some steps only is brought to its own pace in the others.
    const bool is_slow_at_times = pace_.worker[worker].is_slow(kFaintWorker);
    if (recording_.dp_size == 1 && recording_.pp_size > 1 && !is_slow_at_times) {
      for (double& step : series) step *= std::max(1.0, pace_.stage[stage]);
    }
    if (!is_replica_slow(pace_, dp_rank)) return series;
    // A replica's steps also differ in sequence length. Only the fitted pattern is repaired, so that stays.
    const auto first = pace_.replica_step.begin() + static_cast<std::ptrdiff_t>(dp_rank * series.size());
    const TimePattern time = find_time_pattern({first, first + static_cast<std::ptrdiff_t>(series.size())},
                                               pace_.replica_noise, kFaintReplica);
    for (std::size_t step = 0; step < series.size(); ++step) series[step] *= std::max(1.0, time.at(step));
    return series;
  }

  void add(std::size_t worker) {
    const auto [dp_rank, stage] = recording_.worker(worker);
    const std::vector<double> slower = excess(worker);
    const auto row = static_cast<std::size_t>(remedy_.workers.row_of_stage[stage]);
    for (std::size_t i = 0; i < recording_.blocks.size(); ++i) {
      const StepBlock& block = recording_.blocks[i];
      for (std::size_t step = 0; step < block.shape.steps; ++step) {
        remedy_.workers.of_block[i][row * block.shape.stride() + block.shape.lane(step, dp_rank)] =
            1 / slower[block.first_step + step];
      }
    }
    for (OpId op = 0; op < recording_.ops.size(); ++op) {
      const TraceOp& at = recording_.ops[op];
      if (at.type == OpType::kOptimizer && static_cast<std::size_t>(at.stage) == stage)
        add_optimizer(op, dp_rank, slower);
    }
  }

  void add_optimizer(OpId op, std::size_t dp_rank, const std::vector<double>& slower) {
    std::vector<double> peers;
    for (std::size_t i = 0; i < recording_.blocks.size(); ++i) {
      const StepBlock& block = recording_.blocks[i];
      const auto values = block.row(block.value_s, op);
      for (std::size_t step = 0; step < block.shape.steps; ++step) {
        peers.clear();
        for (std::size_t dp = 0; dp < block.shape.replicas; ++dp)
          peers.push_back(values[block.shape.lane(step, dp)]);
        std::ranges::nth_element(peers, peers.begin() + static_cast<std::ptrdiff_t>((peers.size() - 1) / 2));
        const double usual = peers[(peers.size() - 1) / 2];
        const double factor = slower[block.first_step + step];
        const std::size_t lane = block.shape.lane(step, dp_rank);
        if (factor > 1 && values[lane] > usual * (1 + (factor - 1) / 2))
          remedy_.patches.push_back({i, op, lane, values[lane] / factor});
      }
    }
  }

  const Recording& recording_;
  const PassPace& pace_;
  Remedy remedy_;
};

// Whether a worker is slow in one or two steps only, and by less than kHiccupPace, as healthy machines are
// too.
bool is_hiccup(const Recording& recording, const PassPace& pace, std::size_t worker) {
  const auto [dp_rank, stage] = recording.worker(worker);
  if (is_replica_slow(pace, dp_rank)) return false;
  const TimePattern time =
      find_time_pattern(pace_by_step(pace, dp_rank, stage), pace.worker_noise, kFaintWorker);
  return time.kind == TimePattern::Kind::kWindow && time.last - time.first < kHiccupSteps &&
         time.high < kHiccupPace && time.low < 1 + kFaintWorker;
}

// The slowest workers first, at most kMostSuspects.
Workers find_suspects(const Recording& recording, const PassPace& pace) {
  std::vector<std::pair<double, std::size_t>> slow;
  for (std::size_t worker = 0; worker < pace.worker.size(); ++worker) {
    const double slower = slowness(recording, pace, worker) - 1;
    if (slower >= kFaintWorker && !is_hiccup(recording, pace, worker)) slow.emplace_back(-slower, worker);
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

// Moves the workers of each name into a group of their own, if it has several and all are in `left`.
void take_whole(const std::string& kind, const std::vector<std::string>& of_worker,
                std::set<std::size_t>& left, std::vector<SlowGroup>& groups) {
  std::map<std::string, Workers> members;
  for (std::size_t worker = 0; worker < of_worker.size(); ++worker) {
    if (!of_worker[worker].empty()) members[of_worker[worker]].push_back(worker);
  }
  for (const auto& [name, workers] : members) {
    const bool are_left =
        std::ranges::all_of(workers, [&](std::size_t worker) { return left.contains(worker); });
    if (workers.size() < 2 || !are_left) continue;
    for (const std::size_t worker : workers) left.erase(worker);
    groups.push_back({kind, name, workers});
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
    take_whole(kind->name, kind->of_worker, left, groups);
  if (recording.pp_size > 1) take_whole("replica", replica_names(recording), left, groups);
  for (const std::size_t worker : left) groups.push_back(lone_worker(worker));
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

// Drops groups, the last first, as long as the step without the repairs of all dropped groups is longer by
// less than kNecessary.
SlowWorkers keep_necessary(const AnalysedJob& job, const PassPace& pace, std::vector<SlowGroup> groups) {
  if (groups.empty()) return {};
  Gain gain = gain_of(job, repair_of(job.recording, pace, workers_of(groups)));
  const double fixed_s = gain.step_s;
  for (std::size_t i = groups.size(); i-- > 0;) {
    std::vector<SlowGroup> others = groups;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Gain without = gain_of(job, repair_of(job.recording, pace, workers_of(others)));
    if (without.step_s - fixed_s >= kNecessary * fixed_s) continue;
    groups = std::move(others);
    gain = without;
  }
  return {std::move(groups), gain.gain, true};
}

}  // namespace

SlowGroup lone_worker(std::size_t worker) {
  return {"worker", "", {worker}};
}

std::vector<std::size_t> workers_of(const std::vector<SlowGroup>& groups) {
  Workers workers;
  for (const SlowGroup& group : groups) append(workers, group.workers);
  return workers;
}

Remedy repair_of(const Recording& recording, const PassPace& pace, const Workers& workers) {
  return Repair(recording, pace).of(workers);
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
  return keep_necessary(job, pace, std::move(groups));
}

SlowWorkers slow_or_slowest(const AnalysedJob& job, const PassPace& pace) {
  SlowWorkers slow = find_slow_workers(job, pace);
  if (!slow.groups.empty()) return slow;
  const bool has_peers = job.recording.dp_size > 1 || job.recording.pp_size == 1;
  const std::size_t worker = has_peers ? pace.slowest_worker() : pace.slowest_stage();
  return {{lone_worker(worker)}, gain_of(job, repair_of(job.recording, pace, {worker})).gain, false};
}

}  // namespace goodput
