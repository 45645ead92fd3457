// What makes workers straggle, to be injected into a synthetic trace (models/synth/synthetic_trace.h): the
// causes that "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI'25, sections 5
// and 6) found in real jobs, and slow and flapping links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/random.h"
#include "sim/base/units.h"
#include "sim/config/config.h"

namespace goodput {

// The causes as sim/causes/root_cause.h names them, in the order of the alternatives of Straggler.
inline constexpr std::string_view kStragglerKinds[] = {
    "worker-fault", "stage-partition", "sequence-length",    "gc-pauses",
    "launch-delay", "slow-link",       "communication-flap",
};

// A worker computes `factor` times as long, in some steps.
struct SlowWorker {
  std::int32_t dp = 0;
  std::int32_t stage = 0;
  double factor = 1.5;         // of its passes and its optimizer
  std::int64_t from_step = 1;  // steps count from 1
  std::int64_t to_step = 0;    // inclusive; 0: the last
  double from_factor = 0;  // at from_step, from where it grows evenly to `factor`; 0: `factor` in all steps

  // REQUIRES: a step of the window, which ends at `end`.
  [[nodiscard]] double factor_in(std::int64_t step, std::int64_t end) const {
    if (from_factor == 0 || end == from_step) return factor;
    const double share = static_cast<double>(step - from_step) / static_cast<double>(end - from_step);
    return from_factor + share * (factor - from_factor);
  }
};

// A stage has more to do than the others, in every replica.
struct StagePartition {
  std::int32_t stage = 0;
  double factor = 1.3;  // of its passes
};

// Documents of unequal lengths fill the sequences. Attention sees one document at a time, so a micro-batch
// costs 1 - a + a * sum(s_i^2) / (n L^2) of what its n sequences of L tokens cost as one document each, a
// being the share of attention's scores in that. Lengths are lognormal: a long tail.
struct SequenceLengths {
  double median_tokens = 512;
  double sigma = 1.5;                       // deviation of the logarithm
  std::optional<double> attention_share{};  // absent: that of the step (SyntheticStep::attention_share)
};

// Python's garbage collector stops a worker now and then, each at steps of its own, inside a pass.
struct GcPauses {
  enum class Passes : std::uint8_t { kForward, kAll };
  static constexpr std::string_view kPassesNames[] = {"forward", "all"};
  std::int32_t every_steps = 10;          // a worker
  SimDuration pause = from_seconds(0.3);  // the mean; each is within 20 % of it
  Passes passes = Passes::kForward;
};

// Ops start late, by an exponentially distributed time.
struct LaunchDelays {
  enum class Ops : std::uint8_t {
    kFirst,  // the first forward pass of the first stage: data loading
    kAll,    // of every worker
  };
  static constexpr std::string_view kOpsNames[] = {"first", "all"};
  Ops ops = Ops::kFirst;
  SimDuration mean = from_seconds(0.1);
};

// Messages between a stage and the next take `factor` times as long, in both directions and for both ends; so
// do those between the last stage and the first, of jobs with virtual stages.
struct SlowLink {
  static constexpr std::int32_t kAllReplicas = -1;
  std::int32_t dp = kAllReplicas;
  std::int32_t stage = 0;  // the link from this stage to the next
  double factor = 4;
  std::int64_t from_step = 1;  // steps count from 1
  std::int64_t to_step = 0;    // inclusive; 0: the last
};

// The network card of a worker: some of its transfers take `factor` times as long, for both ends. Where a
// collective is hit, all replicas wait.
struct NicFlap {
  std::int32_t dp = 0;
  std::int32_t stage = 0;
  double share = 0.05;  // of transfers that are hit
  double factor = 50;
};

using Straggler =
    std::variant<SlowWorker, StagePartition, SequenceLengths, GcPauses, LaunchDelays, SlowLink, NicFlap>;

[[nodiscard]] inline std::string_view kind_of(const Straggler& straggler) {
  return kStragglerKinds[straggler.index()];
}

// Keys of the straggler's JSON object besides "kind" (docs/formats/stragglers.md).
[[nodiscard]] config::Fields config_fields(Straggler& straggler);

// An array of objects, each with a "kind" of kStragglerKinds.
[[nodiscard]] config::Value stragglers_value(std::vector<Straggler>& stragglers);

// What else a trace needs beside a plan: the "trace" object.
struct TraceSettings {
  std::int32_t steps = 10;
  double jitter = 0.01;  // of every op: deviation of the logarithm of what it takes
};
[[nodiscard]] config::Fields config_fields(TraceSettings& settings);

// What `goodput synth` makes a trace of a plan with: {"stragglers": [...], "trace": {...}}, keys of the plan
// (models/plan/synth_plan.h), or a file of their own.
struct SynthSettings {
  std::vector<Straggler> stragglers;
  TraceSettings trace;
};
[[nodiscard]] config::Fields config_fields(SynthSettings& settings);

struct JobShape {
  std::int32_t dp = 1;
  std::int32_t pp = 1;
  std::int32_t steps = 1;
};

// Workers, stages and steps that the job does not have, and links it does not use. Error::where is a pointer
// from the array: "/1/stage".
[[nodiscard]] Status check_stragglers(const std::vector<Straggler>& stragglers, const JobShape& job);

// What a micro-batch of `sequences` times `length` tokens costs, as a factor of one without document borders.
// REQUIRES: attention_share.
[[nodiscard]] double draw_sequence_cost(const SequenceLengths& lengths, std::int64_t length,
                                        std::int32_t sequences, RandomStream& random);

// `computation on dp 1 stage 2 takes 1.5x as long from step 1 to 10`
[[nodiscard]] std::string describe(const Straggler& straggler);

}  // namespace goodput
