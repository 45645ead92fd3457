#include "sim/root_cause.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

namespace goodput {
namespace {

constexpr double kLikelyShare = 0.5;  // M_W and M_S of the paper
constexpr double kLikelyCorrelation = 0.9;
constexpr double kVariationWorthNaming = 0.05;  // passes that differ by less cannot cost much

RootCause worker_fault(const Recording& recording, const WhatIf& result) {
  std::vector<std::string> names;
  for (const std::size_t worker : result.slowest_workers) {
    const auto stages = static_cast<std::size_t>(recording.pp_size);
    names.push_back(
        fmt::format("dp {} stage {} (rank {})", worker / stages, worker % stages, recording.ranks[worker]));
  }
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
  const auto share = result.last_stage_share.recovered();
  const bool has_stages = recording.pp_size > 1;
  return {"stage-partition",
          "M_S: share of the loss that the last stage explains",
          share,
          kLikelyShare,
          has_stages && share && *share >= kLikelyShare,
          fmt::format("stage {} alone slows the job {:.3f}x", recording.pp_size - 1,
                      result.blocking.by_stage.slowdown.back())};
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
          fmt::format("late launches cost {:.1f} % of a step", 100 * (1 - 1 / result.launch_slowdown))};
}

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
  double n = 0;
  double sum_f = 0;
  double sum_b = 0;
  for (const auto& [f, b] : pairs) {
    for (const StepBlock& block : recording.blocks) {
      for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
        n += 1;
        sum_f += block.row(block.value_s, f)[lane];
        sum_b += block.row(block.value_s, b)[lane];
      }
    }
  }
  double ff = 0;
  double bb = 0;
  double fb = 0;
  for (const auto& [f, b] : pairs) {
    for (const StepBlock& block : recording.blocks) {
      for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
        const double df = block.row(block.value_s, f)[lane] - sum_f / n;
        const double db = block.row(block.value_s, b)[lane] - sum_b / n;
        ff += df * df;
        bb += db * db;
        fb += df * db;
      }
    }
  }
  if (!(ff > 0) || !(bb > 0)) return std::nullopt;
  return PassCorrelation{fb / std::sqrt(ff * bb), std::sqrt(ff / n) / (sum_f / n),
                         static_cast<std::size_t>(n)};
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
