// How long the passes of every worker, stage and replica take relative to their peers.
//
// The model is a product of stage, replica in a step, and worker in a step. The layer partition affects all
// replicas equally, sequence lengths affect all stages of a replica equally, and what remains is the worker's
// own. Pauses are left out.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/causes/passes.h"
#include "sim/recording/recording.h"

namespace goodput {

// A number for each stage in each lane of the whole recording.
class LaneStages {
 public:
  explicit LaneStages(const Recording& recording)
      : steps_(recording.steps.size()),
        replicas_(static_cast<std::size_t>(recording.dp_size)),
        stages_(static_cast<std::size_t>(recording.pp_size)),
        values_(steps_ * replicas_ * stages_) {}

  [[nodiscard]] double& at(std::size_t step, std::size_t replica, std::size_t stage) {
    return values_[(stage * replicas_ + replica) * steps_ + step];
  }
  [[nodiscard]] std::span<double> lanes_of(std::size_t stage) {
    return std::span(values_).subspan(stage * replicas_ * steps_, replicas_ * steps_);
  }
  [[nodiscard]] std::span<const double> steps_of(std::size_t replica, std::size_t stage) const {
    return std::span(values_).subspan((stage * replicas_ + replica) * steps_, steps_);
  }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] std::size_t replicas() const { return replicas_; }
  [[nodiscard]] std::size_t stages() const { return stages_; }

 private:
  std::size_t steps_;
  std::size_t replicas_;
  std::size_t stages_;
  std::vector<double> values_;
};

// The pace of one of several peers; 1 is as fast as the others.
struct PeerPace {
  double mean = 1;   // over the steps
  double error = 0;  // standard error of the mean
  [[nodiscard]] bool is_slow(double least, double deviations = 5) const {
    return mean - 1 >= least && mean - 1 >= deviations * error;
  }
};

struct PassPace {
  // By stage, for the median lane: the forward and backward passes of a step together, relative to those of
  // the median stage.
  std::vector<double> forward_s;
  std::vector<double> backward_s;
  std::vector<double> stage;
  std::vector<double> slow_steps;  // by stage: the share of the steps in which it is about that slow

  std::vector<PeerPace> worker;   // by dp * pp + stage
  std::vector<PeerPace> replica;  // by dp; of one stage: 1, a replica then is a worker
  double worker_noise = 0;        // of one step: standard deviation
  double replica_noise = 0;

  LaneStages own;                    // by lane and stage: the worker's own factor
  std::vector<double> replica_step;  // at dp * steps + step: what all its stages have in common, over the
                                     // middle lane

  [[nodiscard]] std::size_t slowest_stage() const;
  [[nodiscard]] std::size_t slowest_worker() const;
};

[[nodiscard]] PassPace measure_pace(const Recording& recording, const std::vector<Pause>& pauses);

}  // namespace goodput
