// Traces of jobs that never ran: a step's ops and costs, repeated over steps and replicas with noise and
// injected stragglers, timed, and written down as NDTimeline would have; beside them what is true of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/plan/stragglers.h"
#include "models/plan/training_plan.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"
#include "sim/machine/cost_model.h"
#include "sim/ops/op_graph.h"
#include "sim/ops/op_trace.h"
#include "sim/ops/trace_index.h"

namespace goodput {

// One step: its ops and what they take when nothing straggles.
struct SyntheticStep {
  std::vector<TraceOp> ops;  // by OpId
  OpGraph graph;
  std::vector<double> value_s;  // by OpId: durations, transfer times
  std::int32_t dp = 1;
  std::int32_t pp = 1;
  std::int32_t vpp = 1;
  std::int32_t rank_gap = 1;  // from one recorded worker to the next: tensor- and context-parallel peers
  std::int64_t sequence_length = 1;  // tokens
  std::int32_t sequences = 1;        // a micro-batch
  Tier tier = Tier::kAssumed;        // what the costs rest on
};

// The step of a plan. Fails, naming the field, on schedules and options that NDTimeline's traces cannot show.
// REQUIRES: check_training_plan(plan).
Result<SyntheticStep> synthetic_step(const TrainingPlan& plan, const CostModel& cost, std::uint64_t seed);

// From the exact values, not from the rows; means over the steps. Slowdowns as whatif defines them
// (docs/design.md).
struct SyntheticTruth {
  double recorded_s = 0;                // step as recorded
  double replayed_s = 0;                // had every op launched at once
  double ideal_s = 0;                   // every op at the mean or median of its type: when the optimizer ends
  double clean_s = 0;                   // step without the stragglers, with the noise
  double slowdown = 1;                  // S = replayed over ideal
  double launch_slowdown = 1;           // recorded over the replayed optimizer's end
  std::vector<double> worker_slowdown;  // by dp * pp + stage: this worker as it was, all else ideal
  std::vector<double> stage_slowdown;
  // By straggler: the share of the recorded step that goes away without it; of an uneven partition, with the
  // same work spread evenly.
  std::vector<double> cost;
};

struct SyntheticTrace {
  OpTrace rows;  // float32 times, by (step, rank, op type, seq_id); steps count from 1
  SyntheticTruth truth;
};

// Which parts of the truth are worked out beside S.
enum class Truth : std::uint8_t {
  kWhole,
  kSlowdown,  // no parts: clean_s, worker_slowdown, stage_slowdown and cost stay empty
};

// The same seed gives the same noise with and without a straggler. Fails on stragglers the job has no place
// for, and on ops so short that the recorded times no longer show their order.
Result<SyntheticTrace> synthesize(const SyntheticStep& step, const std::vector<Straggler>& stragglers,
                                  const TraceSettings& settings, std::uint64_t seed,
                                  Truth truth = Truth::kWhole);

}  // namespace goodput
