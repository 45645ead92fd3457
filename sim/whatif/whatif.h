// What-if analysis: what a job's stragglers cost, by replaying its steps with some ops at their recorded and
// all others at their ideal duration.
//
// Method and definitions: "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI'25)
// and docs/design.md. Times in seconds, slowdowns as ratios to the ideal (1 = nothing lost).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/engine/timing.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/instance_set.h"
#include "sim/recording/op_labels.h"
#include "sim/recording/recording.h"

namespace goodput {

struct WhatIfOptions {
  double decompose_threshold = 1.03;  // the launch family is attributed only at or above this slowdown
  unsigned jobs = 1;                  // threads; the result does not depend on it
  bool by_step = false;               // keep WhatIf::worker_step_slowdown: a number a worker and step
};

// Two readings of a simulated step, by step.
struct StepTimes {
  std::vector<double> finish_s;  // end of the last optimizer op
  std::vector<double> span_s;    // last end - first start over all ops
};

// The slowdown that each label alone would cause, in label order.
struct Attribution {
  std::vector<std::string> labels;
  std::vector<double> slowdown;               // mean over steps / ideal mean
  std::vector<std::vector<double>> per_step;  // [step][label]
};

struct Family {
  Attribution by_dp_rank;
  Attribution by_stage;
  Attribution by_optype;
};

// How much of the lost time a set of ops explains (the paper's M_W and M_S).
struct Share {
  double without_s = 0;  // mean span with the set ideal and all else recorded
  double alone_s = 0;    // mean span with the set recorded and all else ideal
  double recorded_s = 0;
  double ideal_s = 0;

  // 1: making the set ideal recovers everything that is lost; absent when nothing is lost.
  [[nodiscard]] std::optional<double> recovered() const { return of_loss(recorded_s - without_s); }
  // 1: the set alone loses as much as is lost.
  [[nodiscard]] std::optional<double> caused() const { return of_loss(alone_s - ideal_s); }
  // `part_s` over what is lost.
  [[nodiscard]] std::optional<double> of_loss(double part_s) const;
};

struct IdealOfType {
  std::string name;
  std::optional<double> value_s;  // absent: its ops have several
};

struct WhatIf {
  std::vector<std::int64_t> steps;
  std::vector<double> base_s;  // recorded step times
  StepTimes nodelay;           // recorded durations, launches without delay
  double ideal_finish_s = 0;   // every step alike
  double ideal_span_s = 0;
  IdealValues ideal_values;  // by OpId
  std::vector<IdealOfType> ideal_by_type;

  double slowdown = 1;  // S: mean nodelay span / ideal finish
  std::vector<double> step_slowdown;
  double launch_slowdown = 1;  // mean recorded time / mean nodelay finish
  std::vector<double> launch_step_slowdown;
  double discrepancy = 0;  // |mean nodelay span / mean recorded time - 1|: what the replay gets wrong

  Family blocking;               // what each part alone costs
  std::optional<Family> launch;  // what late launches of each part cost; at or above the threshold only

  // By worker, at dp * pp_size + stage.
  std::vector<double> worker_slowdown;                    // exact: this worker recorded, all others ideal
  std::vector<std::vector<double>> worker_step_slowdown;  // [step][worker], when asked for
  std::vector<double> worker_slowdown_bound;  // the reference's stand-in: min(by dp rank, by stage)
  std::vector<std::size_t> slowest_workers;   // the 3 % with the largest bound
  Share slowest_workers_share;                // M_W
  Share last_stage_share;                     // M_S
  std::size_t slowest_stage = 0;              // the one that alone costs most
  Share slowest_stage_share;

  [[nodiscard]] double waste() const { return 1 - 1 / slowdown; }
};

// Replays a recording under chosen ideal values; all calls are deterministic and independent of `jobs`.
class WhatIfEngine {
 public:
  // Keeps references: `graph` and `recording` must outlive the engine.
  WhatIfEngine(const OpGraph& graph, const Recording& recording, WhatIfOptions options);

  // Fails when the ideal step takes no time: nothing can be compared with it.
  [[nodiscard]] Result<WhatIf> analyse() const;

  // Step times when the instances in `recorded` take as long as recorded and all others their ideal value.
  [[nodiscard]] StepTimes simulate(const InstanceSet& recorded) const;

  // Start and end of every op, by OpId, when all take their ideal value: the same in every lane.
  struct OpTimes {
    std::vector<double> start_s;
    std::vector<double> end_s;
  };
  [[nodiscard]] OpTimes ideal_times() const;

 private:
  enum class Replay : std::uint8_t {
    kMixed,         // inside a set recorded, outside ideal
    kMixedOutside,  // outside a set recorded, inside ideal
    kLaunch,        // all recorded, inside a set with launch delays
    // One replica at a time; times by replica (of the task's) * steps + step.
    kLoneReplica,  // the ops of a set's only box recorded, all else ideal
    kLateReplica,  // all recorded, this replica with launch delays
  };
  struct Task;
  class Worker;
  [[nodiscard]] std::vector<StepTimes> run(const std::vector<Task>& tasks, TimingEngine::Keep keep) const;
  [[nodiscard]] StepTimes ideal_step() const;
  // By label, the finish times of the steps.
  [[nodiscard]] std::vector<std::vector<double>> finish_times(Replay replay,
                                                              const std::vector<OpLabel>& labels) const;
  // By label, the finish times with its ops recorded in one replica alone, by dp * steps + step.
  [[nodiscard]] std::vector<std::vector<double>> lone_finish_times(const std::vector<OpLabel>& labels) const;
  void attribute_blocking(WhatIf& result) const;
  [[nodiscard]] std::vector<std::vector<double>> by_step_and_worker(
      const std::vector<std::vector<double>>& stage_alone, const WhatIf& result) const;
  [[nodiscard]] Family attribute_launch(const WhatIf& result) const;
  void explain_by_workers(WhatIf& result) const;
  [[nodiscard]] std::vector<Share> shares_of(const std::vector<InstanceSet>& sets,
                                             const WhatIf& result) const;

  const OpGraph& graph_;
  const Recording& recording_;
  WhatIfOptions options_;
  IdealValues ideal_;
};

}  // namespace goodput
