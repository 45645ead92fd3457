// Seeded generators of dense NDTimeline traces, for tests.
//
// A training step is simulated forwards: the passes of each stage in the order of its schedule, receives
// posted and sends launched in order, data-parallel collectives, and the tail from gc to the optimizer. What
// is written down is what a profiler on each worker would see: a communication starts when its own worker
// launches it and ends a transfer after the last participant launched it. Nothing here knows how the analysis
// finds dependencies.
#pragma once

#include <cstdint>
#include <string>

#include "sim/ops/op_trace.h"

namespace goodput::testing {

enum class Schedule {
  kOneFOneB,     // REQUIRES: vpp == 1
  kInterleaved,  // Megatron's virtual pipeline; with vpp == 1 the same as kOneFOneB
  kGPipe,        // all forward passes, then all backward passes
};

// For slow_dp_rank: the whole stage is slow.
inline constexpr int kAllReplicas = -1;

struct TraceSpec {
  // Sizes. REQUIRES: all >= 1; micro_batches is a multiple of pp when vpp > 1.
  int dp = 2;
  int pp = 2;
  int vpp = 1;
  int micro_batches = 4;
  int steps = 2;
  Schedule schedule = Schedule::kOneFOneB;

  // Data parallelism. With data_parallel_ops the analysis must see dp * dsp_size > 1, without it 1
  // (REQUIRED).
  bool data_parallel_ops = true;
  int dsp_size = 1;         // not in the trace: to be handed to the analysis
  bool overlap_dp = false;  // reduce-scatters during the backward passes, and separate-grads-all-reduce
  int dp_buckets_per_chunk = 1;

  // Point-to-point ops that are recorded without a message.
  bool type1_noops = false;  // never launched: receives after the last pass, sends before the first has ended
  bool type2_noops = false;  // at the ends of the pipeline, where there is no peer. REQUIRED when vpp > 1
  bool missing_first_recv = false;  // type 2 but for the first pass, which has none. REQUIRES: type2_noops
  bool missing_last_send = false;   // type 2 but for the last pass, which has none. REQUIRES: type2_noops
  bool noops_at_tolerance = false;  // no-ops 20 to 40 us on either side of where type 1 begins (50 us)
  bool outlasting_noops = false;    // the last receive of type 1 lasts longer than the step

  // Durations.
  double forward_s = 0.020;  // a forward pass of a whole stage; a backward pass takes twice as long
  double jitter = 0.02;      // relative standard deviation of compute, logarithmic one of transfers
  int slow_dp_rank = 0;      // this worker computes slow_worker_factor times as long
  int slow_stage = 0;
  double slow_worker_factor = 1;
  double slow_last_stage_factor = 1;
  double launch_delay_s = 20e-6;  // mean of an exponential distribution; 0: everything starts at once

  // What the profiler makes of it.
  double clock_skew_s = 0;      // clocks are off by up to this much, a constant a worker. REQUIRES: <= 0.025
  bool exact_ties = false;      // all times are multiples of 1/1024 s, many of them equal
  bool sparse_steps = false;    // step numbers with gaps, else 1, 2, ...
  bool shuffled_ranks = false;  // ranks of a stage that do not follow the dp ranks
  int rank_gap = 1;             // between recorded ranks: tensor-parallel peers are not recorded
  bool float32 = true;          // start and duration are rounded to float32

  std::uint64_t seed = 1;
};

// For messages of failing tests.
[[nodiscard]] std::string to_string(const TraceSpec& spec);

// Rows by (step, rank, optype alphabetically, seq_id); the first start of a step is 0 on a true clock.
// Throws std::invalid_argument when the spec breaks a REQUIRES.
[[nodiscard]] OpTrace generate_trace(const TraceSpec& spec);

// The same rows in a random order.
[[nodiscard]] OpTrace shuffled(const OpTrace& trace, std::uint64_t seed);

// All features in combination, at small sizes: at most about 2000 rows, once in 50 seeds 34 to 80 workers.
[[nodiscard]] TraceSpec random_spec(std::uint64_t seed);

}  // namespace goodput::testing
