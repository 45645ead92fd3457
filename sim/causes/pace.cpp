#include "sim/causes/pace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kNoiseDeviations = 5;
constexpr double kDeviationOfMedian = 1.4826;        // standard deviation over median absolute deviation
constexpr double kDeviationOfNinetieth = 1 / 1.645;  // over the 90 % quantile of the absolute deviation

// The middle, of two middle ones the lower: stragglers only make values larger.
double take_lower_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double take_quantile(std::vector<double>& values, double quantile) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(quantile * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Forward or backward passes of every stage and lane together, without pauses.
LaneStages sum_passes(const Recording& recording, OpType type, const std::vector<Pause>& pauses) {
  LaneStages sums(recording);
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    if (recording.ops[op].type != type) continue;
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
  if (type != OpType::kForwardCompute) return sums;
  for (const Pause& pause : pauses) {
    const auto [dp, stage] = recording.worker(pause.worker);
    sums.at(pause.step, dp, stage) -= pause.excess_s;
  }
  return sums;
}

double middle_lane(LaneStages& sums, std::size_t stage) {
  std::vector<double> lanes(sums.lanes_of(stage).begin(), sums.lanes_of(stage).end());
  return take_lower_median(lanes);
}

void divide_stages(LaneStages& pace) {
  for (std::size_t stage = 0; stage < pace.stages(); ++stage) {
    const double common = middle_lane(pace, stage);
    if (!(common > 0)) continue;
    for (double& value : pace.lanes_of(stage)) value /= common;
  }
}

// What all stages of a lane have in common, at dp * steps + step; it is gone from `pace`.
std::vector<double> divide_replicas(LaneStages& pace) {
  std::vector<double> common(pace.replicas() * pace.steps(), 1.0);
  if (pace.stages() == 1) return common;  // what a lane has in common is what its worker has
  std::vector<double> stages(pace.stages());
  for (std::size_t dp = 0; dp < pace.replicas(); ++dp) {
    for (std::size_t step = 0; step < pace.steps(); ++step) {
      for (std::size_t stage = 0; stage < stages.size(); ++stage) stages[stage] = pace.at(step, dp, stage);
      const double middle = take_lower_median(stages);
      if (!(middle > 0)) continue;
      common[dp * pace.steps() + step] = middle;
      for (std::size_t stage = 0; stage < stages.size(); ++stage) pace.at(step, dp, stage) /= middle;
    }
  }
  return common;
}

// The standard deviation of one step's value, from how it changes between steps: of slowness that lasts only
// the onset counts, and few of many changes move neither quantile. Of one step: from how peers differ.
double noise_of(const std::vector<std::span<const double>>& series) {
  std::vector<double> changes;
  double scale = 1 / std::sqrt(2.0);
  for (const auto& values : series) {
    for (std::size_t step = 1; step < values.size(); ++step)
      changes.push_back(std::abs(values[step] - values[step - 1]));
  }
  if (changes.empty()) {
    scale = 1;
    for (const auto& values : series) changes.push_back(std::abs(values.front() - 1));
  }
  return scale * std::max(kDeviationOfMedian * take_quantile(changes, 0.5),
                          kDeviationOfNinetieth * take_quantile(changes, 0.9));
}

PeerPace pace_of(std::span<const double> series, double noise) {
  const auto steps = static_cast<double>(series.size());
  return {std::accumulate(series.begin(), series.end(), 0.0) / steps,
          kNoiseDeviations * noise / std::sqrt(steps)};
}

std::size_t largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

void measure_stages(LaneStages& forwards, LaneStages& backwards, Pace& pace) {
  for (std::size_t stage = 0; stage < forwards.stages(); ++stage) {
    pace.forward_s.push_back(middle_lane(forwards, stage));
    pace.backward_s.push_back(middle_lane(backwards, stage));
    pace.stage.push_back(pace.forward_s.back() + pace.backward_s.back());
  }
  std::vector<double> sorted = pace.stage;
  const double middle = take_lower_median(sorted);
  for (double& stage : pace.stage) stage = middle > 0 ? stage / middle : 1;
}

void measure_peers(Pace& pace) {
  std::vector<std::span<const double>> workers;
  std::vector<std::span<const double>> replicas;
  for (std::size_t dp = 0; dp < pace.own.replicas(); ++dp) {
    replicas.push_back(
        std::span<const double>(pace.replica_step).subspan(dp * pace.own.steps(), pace.own.steps()));
    for (std::size_t stage = 0; stage < pace.own.stages(); ++stage)
      workers.push_back(pace.own.steps_of(dp, stage));
  }
  pace.worker_noise = noise_of(workers);
  pace.replica_noise = noise_of(replicas);
  for (const auto& series : workers) pace.worker.push_back(pace_of(series, pace.worker_noise));
  for (const auto& series : replicas) pace.replica.push_back(pace_of(series, pace.replica_noise));
}

}  // namespace

std::size_t Pace::slowest_stage() const {
  return largest(stage);
}

std::size_t Pace::slowest_worker() const {
  const auto slower = [](const PeerPace& a, const PeerPace& b) { return a.mean < b.mean; };
  return static_cast<std::size_t>(std::max_element(worker.begin(), worker.end(), slower) - worker.begin());
}

Pace measure_pace(const Recording& recording, const std::vector<Pause>& pauses) {
  LaneStages forwards = sum_passes(recording, OpType::kForwardCompute, pauses);
  LaneStages backwards = sum_passes(recording, OpType::kBackwardCompute, pauses);
  Pace pace{{}, {}, {}, {}, {}, 0, 0, LaneStages(recording), {}};
  measure_stages(forwards, backwards, pace);
  for (std::size_t stage = 0; stage < forwards.stages(); ++stage) {
    std::ranges::transform(forwards.lanes_of(stage), backwards.lanes_of(stage),
                           pace.own.lanes_of(stage).begin(), std::plus<>());
  }
  divide_stages(pace.own);
  pace.replica_step = divide_replicas(pace.own);
  divide_stages(pace.own);
  measure_peers(pace);
  return pace;
}

}  // namespace goodput
