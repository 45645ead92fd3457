// Traces of jobs that never ran: a step's ops and costs, repeated over steps and replicas with noise and
// injected stragglers, timed, and written down as NDTimeline would have; beside them what is true of them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/plan/stragglers.h"
#include "models/synth/synthetic_step.h"
#include "models/synth/synthetic_truth.h"
#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"

namespace goodput {

struct SyntheticTrace {
  OpTrace rows;  // float32 times, by (step, rank, op type, seq_id); steps count from 1
  SyntheticTruth truth;
  std::vector<Straggler> stragglers;  // as injected: with the defaults that depend on the step
};

// Which parts of the truth are worked out beside S.
enum class Truth : std::uint8_t {
  kWhole,
  kSlowdown,  // no parts: clean_s, worker_slowdown, stage_slowdown and cost stay empty
};

// The same seed gives the same noise with and without a straggler. Fails on stragglers the job has no place
// for, and on ops so short that the recorded times no longer show their order.
// REQUIRES: attention_share in stragglers of a step without a plan.
Result<SyntheticTrace> synthesize(const SyntheticStep& step, const std::vector<Straggler>& stragglers,
                                  const TraceSettings& settings, std::uint64_t seed,
                                  Truth truth = Truth::kWhole);

}  // namespace goodput
