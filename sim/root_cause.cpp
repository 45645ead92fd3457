#include "sim/root_cause.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace goodput {
namespace {

constexpr double kLikelyShare = 0.5;  // M_W and M_S of the paper
constexpr double kLikelyCorrelation = 0.9;
constexpr double kVariationWorthNaming = 0.05;  // passes that differ by less cannot cost much

RootCause worker_fault(const Recording& recording, const WhatIf& result) {
  std::vector<std::string> names;
  for (const std::size_t worker : result.slowest_workers) names.push_back(worker_name(recording, worker));
  constexpr std::size_t kNamed = 4;
  const std::size_t unnamed = names.size() > kNamed ? names.size() - kNamed : 0;
  names.resize(names.size() - unnamed);
  const auto share = result.slowest_workers_share.recovered();
  return {
      "worker-fault",
      "M_W: share of the loss that the slowest 3 % of the workers explain",
      share,
      kLikelyShare,
      share && *share >= kLikelyShare,
      fmt::format("{}{}", fmt::join(names, ", "), unnamed > 0 ? fmt::format(" and {} more", unnamed) : "")};
}

RootCause stage_partition(const Recording& recording, const WhatIf& result) {
  const auto share = result.slowest_stage_share.recovered();
  // A slow worker makes its stage slow; with one replica the two cannot be told apart.
  const auto by_workers = result.slowest_workers_share.recovered();
  const bool is_one_worker = recording.dp_size > 1 && by_workers && *by_workers >= kLikelyShare;
  const auto last = result.last_stage_share.recovered();
  return {"stage-partition",
          "share of the loss that the slowest stage explains (M_S when it is the last)",
          share,
          kLikelyShare,
          recording.pp_size > 1 && share && *share >= kLikelyShare && !is_one_worker,
          fmt::format("stage {} alone slows the job {:.3f}x{}", result.slowest_stage,
                      result.blocking.by_stage.slowdown[result.slowest_stage],
                      last ? fmt::format("; the last stage explains {:.3f}", *last) : "")};
}

RootCause sequence_length(const Recording& recording) {
  const std::int32_t stage = recording.pp_size / 2;
  const auto passes = correlate_passes(recording, stage);
  RootCause cause{"sequence-length",
                  "correlation of forward and backward durations of the same micro-batch",
                  std::nullopt,
                  kLikelyCorrelation,
                  false,
                  "no micro-batches to compare, or passes that never vary"};
  if (!passes) return cause;
  cause.value = passes->correlation;
  cause.likely = passes->correlation >= kLikelyCorrelation && passes->variation >= kVariationWorthNaming;
  cause.evidence = fmt::format("{} pairs on stage {}; forward passes vary by {:.1f} %", passes->pairs, stage,
                               100 * passes->variation);
  return cause;
}

RootCause launch_delay(const WhatIf& result, double threshold) {
  return {"launch-delay",
          "launch slowdown: recorded over replayed without launch delays",
          result.launch_slowdown,
          threshold,
          result.launch_slowdown >= threshold,
          fmt::format("late launches cost {:.1f} % of a step",
                      std::max(0.0, 100 * (1 - 1 / result.launch_slowdown)))};
}

}  // namespace

namespace {

using PassPairs = std::vector<std::pair<OpId, OpId>>;

// Calls visit(forward, backward) with the durations of every pair in every step of one replica.
template <typename Visit>
void for_each_pair(const Recording& recording, const PassPairs& pairs, std::size_t dp, Visit visit) {
  for (const StepBlock& block : recording.blocks) {
    for (const auto& [forward, backward] : pairs) {
      for (std::size_t step = 0; step < block.shape.steps; ++step) {
        const std::size_t lane = block.shape.lane(step, dp);
        visit(block.row(block.value_s, forward)[lane], block.row(block.value_s, backward)[lane]);
      }
    }
  }
}

struct PassMeans {
  double forward_s = 0;
  double backward_s = 0;
};

PassMeans mean_durations(const Recording& recording, const PassPairs& pairs, std::size_t dp) {
  PassMeans sums;
  double count = 0;
  for_each_pair(recording, pairs, dp, [&](double forward, double backward) {
    sums.forward_s += forward;
    sums.backward_s += backward;
    count += 1;
  });
  return {sums.forward_s / count, sums.backward_s / count};
}

// Second moments of pairs with mean 0.
struct Moments {
  double ff = 0;
  double bb = 0;
  double fb = 0;
  std::size_t count = 0;

  void add(double f, double b) {
    ff += f * f;
    bb += b * b;
    fb += f * b;
    ++count;
  }
};

}  // namespace

std::optional<PassCorrelation> correlate_passes(const Recording& recording, std::int32_t stage) {
  std::map<std::pair<std::int32_t, std::int16_t>, OpId> forwards;
  std::vector<std::pair<OpId, OpId>> pairs;
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    const TraceOp& forward = recording.ops[op];
    if (forward.stage == stage && forward.type == OpType::kForwardCompute && forward.mb_id != kUnset) {
      forwards.try_emplace({forward.mb_id, forward.mc}, op);
    }
  }
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    const TraceOp& backward = recording.ops[op];
    if (backward.stage != stage || backward.type != OpType::kBackwardCompute) continue;
    const auto forward = forwards.find({backward.mb_id, backward.mc});
    if (forward != forwards.end()) pairs.emplace_back(forward->second, op);
  }
  // Durations relative to their replica's mean: a slow worker is slow in both directions, which says nothing
  // of lengths.
  Moments moments;
  for (std::size_t dp = 0; dp < static_cast<std::size_t>(recording.dp_size); ++dp) {
    const PassMeans mean = mean_durations(recording, pairs, dp);
    if (!(mean.forward_s > 0) || !(mean.backward_s > 0)) continue;
    for_each_pair(recording, pairs, dp, [&](double forward, double backward) {
      moments.add(forward / mean.forward_s - 1, backward / mean.backward_s - 1);
    });
  }
  if (!(moments.ff > 0) || !(moments.bb > 0)) return std::nullopt;
  return PassCorrelation{moments.fb / std::sqrt(moments.ff * moments.bb),
                         std::sqrt(moments.ff / static_cast<double>(moments.count)), moments.count};
}

std::vector<RootCause> find_root_causes(const Recording& recording, const WhatIf& result,
                                        double launch_threshold) {
  std::vector<RootCause> causes = {worker_fault(recording, result), stage_partition(recording, result),
                                   sequence_length(recording), launch_delay(result, launch_threshold)};
  if (result.slowdown < kSlowdownWorthExplaining) {
    for (RootCause& cause : causes) cause.likely = cause.likely && cause.name == "launch-delay";
  }
  return causes;
}

}  // namespace goodput
