// What the analysis of one step of a running job came to, as alerts, storage and pages need it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/verdict.h"

namespace goodput {

// A step of a run of a job. A job whose steps go back, as after a restart from a checkpoint, is a new run of
// it: the same step may occur in several runs.
struct StepId {
  std::int32_t run = 0;  // from 0
  std::int64_t step = 0;

  friend auto operator<=>(const StepId&, const StepId&) = default;
};

enum class StepStatus : std::uint8_t {
  kAnalysed,    // every worker had it, and it was analysed
  kIncomplete,  // rows of some workers did not come in time: `problem` and `missing` say whose
  kRefused,     // all rows were there, but the analysis refuses them: `problem` says why
  kSkipped,     // left out to keep up, or because only every n-th step is asked for
};
inline constexpr std::string_view kStepStatuses[] = {"analysed", "incomplete", "refused", "skipped"};

// The workers of a job and where they stand: by index, dp_rank * pp_size + stage.
struct JobLayout {
  std::int32_t dp_size = 1;
  std::int32_t pp_size = 1;
  std::int32_t vpp_size = 1;
  std::int32_t gpus_per_worker = 1;  // tensor-parallel peers of a worker: for costs
  std::vector<std::int32_t> ranks;   // global rank of each worker; -1: never seen
  std::vector<std::string> hosts;    // of each worker; an empty text: not known; or an empty list

  [[nodiscard]] std::size_t workers() const {
    return static_cast<std::size_t>(dp_size) * static_cast<std::size_t>(pp_size);
  }
  [[nodiscard]] std::int64_t gpus() const { return static_cast<std::int64_t>(workers()) * gpus_per_worker; }
  friend bool operator==(const JobLayout&, const JobLayout&) = default;
};

// A worker by name.
struct WorkerPlace {
  std::int32_t dp_rank = 0;
  std::int32_t stage = 0;
  std::int32_t rank = -1;  // -1: not known
  std::string host;        // empty: not known

  friend bool operator==(const WorkerPlace&, const WorkerPlace&) = default;
};
// REQUIRES: worker < shape.workers().
[[nodiscard]] WorkerPlace place_of(const JobLayout& shape, std::size_t worker);
// `dp 1 stage 2 (rank 140, host node17)`, as far as it is known.
[[nodiscard]] std::string describe(const WorkerPlace& place);

// A likely or unlikely cause, as `goodput whatif` finds it in the rows of this step (sim/causes).
struct StepCause {
  std::string name;  // worker-fault, slow-replica, slow-host, stage-partition, sequence-length, ...
  bool is_likely = false;
  std::optional<double> gain;        // the step over the step with its fix; absent where nothing can be fixed
  std::vector<std::size_t> workers;  // that it is about, the slowest first; empty: no worker alone
  std::optional<std::size_t> stage;  // or a stage
  std::vector<std::string> fix;      // selectors of `goodput whatif --fix`
  std::string evidence;              // the figures behind it, for people
  std::string next_check;            // what to look at next, for people
};

// One fault of the step: what of a likely cause concerns one worker, host, replica, stage or link.
struct StepFault {
  Verdict verdict;  // of this fault alone; without a cost if others share its cause
  double gain = 1;  // of the fix of the whole cause
};

// What the map of the workers looks like (the paper's Fig. 14): the first three tell machines, partitions and
// data apart at a glance.
enum class SlowdownShape : std::uint8_t {
  kNone,      // nobody is slow
  kWorkers,   // single cells: machines
  kStages,    // whole columns of the map: an uneven partition of the model
  kSequence,  // spread over replicas, and other ones in every step: lengths of sequences
  kOther,     // slow, and none of these
};
inline constexpr std::string_view kSlowdownShapes[] = {"none", "workers", "stages", "sequence", "other"};

struct LabelledSlowdown {
  std::string label;
  double slowdown = 1;
};

// Numbers of one step. Slowdowns are ratios to the ideal step (1: nothing lost), as WhatIf has them.
struct StepTotals {
  StepId id;
  StepStatus status = StepStatus::kAnalysed;
  double began_s = 0;     // Unix time of its first op, by the workers' clocks; 0: the rows do not tell
  double received_s = 0;  // Unix time at which its last row was read
  double finished_s = 0;  // Unix time at which this was known
  std::int64_t ops = 0;

  // Of an analysed step; else 0 and 1.
  double recorded_s = 0;       // the step as recorded
  double replayed_s = 0;       // without launch delays
  double ideal_s = 0;          // if every op took its ideal value
  double slowdown = 1;         // S
  double launch_slowdown = 1;  // recorded over replayed
  double discrepancy = 0;      // of the replay
  double worst_slowdown = 1;   // of the worker that alone costs most
  std::size_t worst_worker = 0;
  SlowdownShape shape = SlowdownShape::kNone;
  std::string cause;  // the likely one that gains most; empty: none
  double gain = 1;    // of that

  [[nodiscard]] double waste() const { return 1 - 1 / slowdown; }
  // To stragglers and, where the step as recorded is longer than its replay, to late launches.
  [[nodiscard]] double lost_s() const { return std::max(recorded_s, replayed_s) - ideal_s; }
};

// All that is kept of a step besides its rows.
struct StepResult {
  StepTotals totals;
  JobLayout layout;

  std::vector<double> worker_slowdown;  // exact; by worker; empty: not analysed
  std::vector<double> worker_pace;      // passes over those of peers; by worker; empty: not analysed
  std::vector<double> by_stage;         // slowdown that each alone causes
  std::vector<double> by_dp_rank;
  std::vector<LabelledSlowdown> by_optype;
  std::optional<double> m_w;  // the paper's M_W and M_S; absent where nothing is lost
  std::optional<double> m_s;
  std::optional<double> correlation;  // of forward and backward passes (Pearson); absent: cannot be told
  std::vector<StepCause> causes;      // likely ones first, then by gain
  std::optional<Verdict> verdict;     // Analysis::verdict of this step
  std::vector<StepFault> faults;      // of the likely causes; not stored

  std::string problem;               // why it was not analysed; empty: it was
  std::vector<WorkerPlace> missing;  // of an incomplete step: workers with no or too few rows
  std::vector<std::string> notes;    // what was left out, clocks that disagree: for people
};

}  // namespace goodput
