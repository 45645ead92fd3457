#include "sim/causes/pace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/statistics.h"
#include "sim/causes/time_pattern.h"

namespace goodput {
namespace {

constexpr double kNoiseDeviations = 5;
constexpr double kSlowInTurn =
    1.03;  // the fastest worker's mean over all steps, over that of its quiet steps
constexpr double kLeastExcess = 0.02;  // share of a step; a smaller excess cannot be told from the usual

double take_at(std::vector<double>& values, std::size_t index) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The lower median.
double take_lower_median(std::vector<double>& values) {
  return take_at(values, (values.size() - 1) / 2);
}

// The time that peers take which are not slow. Stragglers only make values larger, so the lower quartile
// holds even if three quarters of the peers straggle.
double take_lower_quartile(std::vector<double>& values) {
  return take_at(values, (values.size() - 1) / 4);
}

// The sums of the forward or backward passes by stage and lane, without pauses.
LaneStages sum_passes(const Recording& recording, bool are_forward, const std::vector<Pause>& pauses) {
  LaneStages sums(recording);
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    const OpType type = recording.ops[op].type;
    if (!is_pass(type) || (type == OpType::kForwardCompute) != are_forward) continue;
    const auto stage = static_cast<std::size_t>(recording.ops[op].stage);
    for (const StepBlock& block : recording.blocks) {
      const auto row = block.row(block.value_s, op);
      for (std::size_t dp = 0; dp < block.shape.replicas; ++dp) {
        for (std::size_t step = 0; step < block.shape.steps; ++step) {
          sums.at(block.first_step + step, dp, stage) += row[block.shape.lane(step, dp)];
        }
      }
    }
  }
  for (const Pause& pause : pauses) {
    if ((recording.ops[pause.expected.op].type == OpType::kForwardCompute) != are_forward) continue;
    const auto [dp, stage] = recording.worker(pause.worker);
    sums.at(pause.step, dp, stage) -= pause.excess_s;
  }
  return sums;
}

// The mean of a worker's relative times over the steps in which it is at most `most`; over all steps if there
// are none.
double mean_of_quiet_steps(std::span<const double> steps, double most) {
  double sum = 0;
  std::size_t count = 0;
  for (const double value : steps) {
    if (value > most) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : mean(steps);
}

// The mean time of the workers of a stage that are not slow. If all are slow in some steps, only their other
// steps count, because two workers that are slow in turn do not make a large stage.
double common_of(const LaneStages& values, std::size_t stage) {
  std::vector<double> cells;
  for (std::size_t dp = 0; dp < values.replicas(); ++dp) {
    const auto worker = values.steps_of(dp, stage);
    cells.insert(cells.end(), worker.begin(), worker.end());
  }
  std::vector<double> sorted = cells;
  const double usual = take_lower_quartile(sorted);
  if (!(usual > 0)) return 0;
  for (double& cell : cells) cell /= usual;
  std::vector<std::span<const double>> workers;
  for (std::size_t dp = 0; dp < values.replicas(); ++dp)
    workers.push_back(std::span<const double>(cells).subspan(dp * values.steps(), values.steps()));
  const double most = 1 + std::max(kLeastExcess, kNoiseDeviations * noise_of_steps(workers));
  std::vector<double> means;
  std::vector<double> quiet;
  for (const auto& worker : workers) {
    means.push_back(mean(worker));
    quiet.push_back(mean_of_quiet_steps(worker, most));
  }
  const double of_means = take_lower_quartile(means);
  const double of_quiet = take_lower_quartile(quiet);
  return usual * (values.replicas() == 1 || of_means > kSlowInTurn * of_quiet ? of_quiet : of_means);
}

void divide_stages(LaneStages& values) {
  for (std::size_t stage = 0; stage < values.stages(); ++stage) {
    const double common = common_of(values, stage);
    if (!(common > 0)) continue;
    for (double& value : values.lanes_of(stage)) value /= common;
  }
}

// The factor that most stages of a lane share, at dp * steps + step.
std::vector<double> replicas_of(LaneStages values) {
  divide_stages(values);
  std::vector<double> common(values.replicas() * values.steps(), 1.0);
  if (values.stages() == 1) return common;  // what a lane has in common is what its worker has
  std::vector<double> stages(values.stages());
  for (std::size_t dp = 0; dp < values.replicas(); ++dp) {
    for (std::size_t step = 0; step < values.steps(); ++step) {
      for (std::size_t stage = 0; stage < stages.size(); ++stage) stages[stage] = values.at(step, dp, stage);
      const double usual = take_lower_quartile(stages);
      if (usual > 0) common[dp * values.steps() + step] = usual;
    }
  }
  return common;
}

void divide_replicas(LaneStages& values, const std::vector<double>& common) {
  for (std::size_t stage = 0; stage < values.stages(); ++stage) {
    const auto lanes = values.lanes_of(stage);
    for (std::size_t lane = 0; lane < common.size(); ++lane) lanes[lane] /= common[lane];
  }
}

// Splits the times of passes into a factor per stage and one per replica by median polish (Tukey 1977).
// Repeats until neither changes much, because slow workers distort the first estimate of the stages.
std::vector<double> split_replicas(const LaneStages& passes) {
  constexpr int kRounds = 4;
  std::vector<double> all(passes.replicas() * passes.steps(), 1.0);
  for (int round = 0; round < kRounds; ++round) {
    LaneStages rest = passes;
    divide_replicas(rest, all);
    const std::vector<double> more = replicas_of(std::move(rest));
    for (std::size_t lane = 0; lane < all.size(); ++lane) all[lane] *= more[lane];
  }
  // Relative to the replicas that are not slow.
  std::vector<double> means;
  for (std::size_t dp = 0; dp < passes.replicas(); ++dp) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(dp * passes.steps());
    means.push_back(mean({first, first + static_cast<std::ptrdiff_t>(passes.steps())}));
  }
  const double usual = take_lower_quartile(means);
  for (double& lane : all) lane /= usual;
  return all;
}

PeerPace pace_of(std::span<const double> series, double noise) {
  const auto steps = static_cast<double>(series.size());
  return {std::accumulate(series.begin(), series.end(), 0.0) / steps, noise / std::sqrt(steps)};
}

std::size_t largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// The time of the faster workers of each stage in each step, at stage * steps + step.
std::vector<double> quick_passes(const LaneStages& forwards, const LaneStages& backwards) {
  std::vector<double> quick;
  std::vector<double> replicas(forwards.replicas());
  for (std::size_t stage = 0; stage < forwards.stages(); ++stage) {
    for (std::size_t step = 0; step < forwards.steps(); ++step) {
      for (std::size_t dp = 0; dp < replicas.size(); ++dp)
        replicas[dp] = forwards.steps_of(dp, stage)[step] + backwards.steps_of(dp, stage)[step];
      quick.push_back(take_lower_quartile(replicas));
    }
  }
  return quick;
}

// The share of the steps in which a stage exceeds the median stage by at least half of the excess that `pace`
// has.
double share_of_slow_steps(const std::vector<double>& quick, std::size_t stages, std::size_t stage,
                           double pace) {
  const std::size_t steps = quick.size() / stages;
  std::size_t slow = 0;
  std::vector<double> of_step(stages);
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t other = 0; other < stages; ++other) of_step[other] = quick[other * steps + step];
    const double middle = take_lower_median(of_step);
    slow += quick[stage * steps + step] >= middle * (1 + pace) / 2 ? 1 : 0;
  }
  return static_cast<double>(slow) / static_cast<double>(steps);
}

// REQUIRES: the factors of the replicas are divided out of both.
void measure_stages(LaneStages& forwards, LaneStages& backwards, PassPace& pace) {
  for (std::size_t stage = 0; stage < forwards.stages(); ++stage) {
    pace.forward_s.push_back(common_of(forwards, stage));
    pace.backward_s.push_back(common_of(backwards, stage));
    pace.stage.push_back(pace.forward_s.back() + pace.backward_s.back());
  }
  std::vector<double> sorted = pace.stage;
  const double middle = take_lower_median(sorted);
  const std::vector<double> quick = quick_passes(forwards, backwards);
  for (std::size_t stage = 0; stage < pace.stage.size(); ++stage) {
    double& own = pace.stage[stage];
    own = middle > 0 ? own / middle : 1;
    pace.slow_steps.push_back(share_of_slow_steps(quick, pace.stage.size(), stage, own));
  }
}

void measure_peers(PassPace& pace) {
  std::vector<std::span<const double>> workers;
  std::vector<std::span<const double>> replicas;
  for (std::size_t dp = 0; dp < pace.own.replicas(); ++dp) {
    replicas.push_back(
        std::span<const double>(pace.replica_step).subspan(dp * pace.own.steps(), pace.own.steps()));
    for (std::size_t stage = 0; stage < pace.own.stages(); ++stage)
      workers.push_back(pace.own.steps_of(dp, stage));
  }
  pace.worker_noise = noise_of_steps(workers);
  pace.replica_noise = noise_of_steps(replicas);
  for (const auto& series : workers) pace.worker.push_back(pace_of(series, pace.worker_noise));
  for (const auto& series : replicas) pace.replica.push_back(pace_of(series, pace.replica_noise));
}

}  // namespace

std::size_t PassPace::slowest_stage() const {
  return largest(stage);
}

std::size_t PassPace::slowest_worker() const {
  const auto slower = [](const PeerPace& a, const PeerPace& b) { return a.mean < b.mean; };
  return static_cast<std::size_t>(std::max_element(worker.begin(), worker.end(), slower) - worker.begin());
}

PassPace measure_pace(const Recording& recording, const std::vector<Pause>& pauses) {
  LaneStages forwards = sum_passes(recording, true, pauses);
  LaneStages backwards = sum_passes(recording, false, pauses);
  PassPace pace{{}, {}, {}, {}, {}, {}, 0, 0, LaneStages(recording), {}};
  for (std::size_t stage = 0; stage < forwards.stages(); ++stage) {
    std::ranges::transform(forwards.lanes_of(stage), backwards.lanes_of(stage),
                           pace.own.lanes_of(stage).begin(), std::plus<>());
  }
  pace.replica_step = split_replicas(pace.own);
  for (LaneStages* values : {&pace.own, &forwards, &backwards}) divide_replicas(*values, pace.replica_step);
  divide_stages(pace.own);
  measure_stages(forwards, backwards, pace);
  measure_peers(pace);
  return pace;
}

}  // namespace goodput
