#include "sim/causes/doubt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/statistics.h"
#include "sim/recording/recording.h"
#include "sim/whatif/whatif.h"

namespace goodput {
namespace {

constexpr std::size_t kMostSteps = 8;  // that are looked at
constexpr std::size_t kMostRanks = 8;  // named
// Shares of the step. Reductions that wait for a slow replica take more than the first. If a pass contains
// more than the second, the excess would be worth a verdict.
constexpr double kShortReductions = 0.01;
constexpr double kHiddenWaiting = 0.03;
// A backward pass computes two gradients, and with recomputation a forward pass again.
constexpr double kBackwardOverForward = 3;
// The share of messages whose ends are further apart than half a pass.
constexpr double kOftenLate = 0.25;

// Some steps of the recording, one lane each.
struct SeenLane {
  const StepBlock* block = nullptr;
  std::size_t lane = 0;
  std::size_t dp_rank = 0;
  double step_s = 0;

  [[nodiscard]] double start_s(OpId op) const { return block->row(block->start_s, op)[lane]; }
  [[nodiscard]] double end_s(OpId op) const { return block->row(block->end_s, op)[lane]; }
  [[nodiscard]] double duration_s(OpId op) const { return end_s(op) - start_s(op); }
};

std::vector<SeenLane> seen_lanes(const Recording& recording) {
  std::vector<SeenLane> lanes;
  const std::size_t steps = recording.steps.size();
  const std::size_t stride = std::max<std::size_t>(1, steps / kMostSteps);
  for (const StepBlock& block : recording.blocks) {
    for (std::size_t step = 0; step < block.shape.steps; ++step) {
      if ((block.first_step + step) % stride != 0) continue;
      for (std::size_t dp = 0; dp < block.shape.replicas; ++dp)
        lanes.push_back(
            {&block, block.shape.lane(step, dp), dp, recording.step_base_s[block.first_step + step]});
    }
  }
  return lanes;
}

// The ops of a stage that the check for contained reductions looks at.
struct StageOps {
  std::vector<OpId> forwards;
  std::vector<OpId> backwards;   // the last passes of a chunk: of weights, where they are apart
  std::vector<OpId> reductions;  // of gradients over the replicas
};

bool is_reduction(OpType type) {
  return type == OpType::kGradsReduceScatter || type == OpType::kSeparateGradsAllReduce ||
         type == OpType::kLayernormGradsAllReduce;
}

std::vector<StageOps> ops_by_stage(const Recording& recording) {
  std::vector<StageOps> stages(static_cast<std::size_t>(recording.pp_size));
  const bool has_weights = std::ranges::any_of(
      recording.ops, [](const TraceOp& op) { return op.type == OpType::kBackwardWeight; });
  const OpType last_pass = has_weights ? OpType::kBackwardWeight : OpType::kBackwardCompute;
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    StageOps& stage = stages[static_cast<std::size_t>(recording.ops[op].stage)];
    const OpType type = recording.ops[op].type;
    if (type == OpType::kForwardCompute) stage.forwards.push_back(op);
    if (type == last_pass) stage.backwards.push_back(op);
    if (is_reduction(type)) stage.reductions.push_back(op);
  }
  return stages;
}

// How much longer the last backward pass is than passes that contain nothing else.
double excess_s(const SeenLane& lane, const StageOps& stage, OpId last) {
  std::vector<double> others;
  for (const OpId op : stage.backwards) {
    if (op != last) others.push_back(lane.duration_s(op));
  }
  double usual = 0;
  if (!others.empty()) {
    usual = take_median(others);
  } else {
    for (const OpId op : stage.forwards) usual += kBackwardOverForward * lane.duration_s(op);
  }
  return std::max(0.0, lane.duration_s(last) - usual);
}

// What the last backward passes of the workers contain, as shares of the step.
struct Contained {
  double reductions = 0;          // recorded as such: the mean over workers
  double excess = 0;              // of last passes: the mean over workers
  std::vector<double> of_worker;  // of the last pass, that a recorded reduction overlaps; dp * pp + stage
};

Contained measure(const Recording& recording) {
  const std::vector<StageOps> stages = ops_by_stage(recording);
  const std::vector<SeenLane> lanes = seen_lanes(recording);
  Contained sum;
  sum.of_worker.resize(recording.ranks.size());
  double cells = 0;
  for (const SeenLane& lane : lanes) {
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      const StageOps& ops = stages[stage];
      if (ops.backwards.empty() || !(lane.step_s > 0)) continue;
      ++cells;
      const OpId last = *std::ranges::max_element(ops.backwards, {}, [&](OpId op) { return lane.end_s(op); });
      sum.excess += excess_s(lane, ops, last) / lane.step_s;
      double overlap = 0;
      for (const OpId op : ops.reductions) {
        sum.reductions += lane.duration_s(op) / lane.step_s;
        overlap = std::max(overlap, std::min(lane.end_s(op), lane.end_s(last)) -
                                        std::max(lane.start_s(op), lane.start_s(last)));
      }
      sum.of_worker[lane.dp_rank * stages.size() + stage] +=
          overlap / lane.step_s / (static_cast<double>(lanes.size()) / recording.dp_size);
    }
  }
  if (cells == 0) return sum;
  sum.reductions /= cells;
  sum.excess /= cells;
  return sum;
}

// `ranks 2 and 3`: the ranks of the stages in which the pass of a worker contains much waiting. The passes of
// its peers contain the same reduction.
std::string ranks_of(const Recording& recording, const Contained& contained) {
  std::vector<std::int32_t> ranks;
  const auto stages = static_cast<std::size_t>(recording.pp_size);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    double most = 0;
    for (std::size_t worker = stage; worker < recording.ranks.size(); worker += stages)
      most = std::max(most, contained.of_worker[worker]);
    if (most < kHiddenWaiting) continue;
    for (std::size_t worker = stage; worker < recording.ranks.size(); worker += stages)
      ranks.push_back(recording.ranks[worker]);
  }
  std::ranges::sort(ranks);
  if (ranks.size() <= 1 || ranks.size() > kMostRanks) return "";
  const std::int32_t last = ranks.back();
  ranks.pop_back();
  return fmt::format("ranks {} and {}", fmt::join(ranks, ", "), last);
}

std::optional<Doubt> contained_reductions(const Recording& recording) {
  if (recording.dp_size < 2) return std::nullopt;
  // A job that overlaps reductions with passes records them as ops of their own, so passes contain none.
  const bool overlaps = std::ranges::any_of(
      recording.ops, [](const TraceOp& op) { return op.type == OpType::kSeparateGradsAllReduce; });
  if (overlaps) return std::nullopt;
  const Contained contained = measure(recording);
  const double most = *std::ranges::max_element(contained.of_worker);
  const bool hides_all = contained.reductions < kShortReductions && contained.excess >= kHiddenWaiting;
  if (most < kHiddenWaiting && !hides_all) return std::nullopt;
  const std::string remedy =
      "record gradient reductions separately from the backward passes, or do not overlap the two";
  if (hides_all) {
    return Doubt{
        fmt::format("gradient reductions take only {:.1f} % of a step, so the last backward passes must "
                    "include the reductions and the wait for other replicas; this hides slow ranks",
                    100 * contained.reductions),
        remedy};
  }
  const std::string ranks = ranks_of(recording, contained);
  return Doubt{fmt::format("the last backward pass{}{} includes the gradient reduction and the wait for "
                           "other replicas, so this pass looks slow in every replica",
                           ranks.empty() ? "" : " of ", ranks),
               remedy};
}

// How many messages have ends that are more than half a forward pass apart, and the largest distance.
struct LateEnds {
  std::size_t messages = 0;
  std::size_t late = 0;
  double most_s = 0;
};

LateEnds find_late_ends(const Recording& recording, const OpGraph& graph) {
  LateEnds ends;
  const std::vector<StageOps> stages = ops_by_stage(recording);
  for (const SeenLane& lane : seen_lanes(recording)) {
    std::vector<double> passes;
    for (const StageOps& stage : stages) {
      for (const OpId op : stage.forwards) passes.push_back(lane.duration_s(op));
    }
    const double half = passes.empty() ? 0 : take_median(passes) / 2;
    for (const OpGraph::Unit& unit : graph.units()) {
      if (!recording.is_message(unit)) continue;
      const double apart = std::abs(lane.end_s(unit.first) - lane.end_s(unit.first + 1));
      ++ends.messages;
      if (apart > half) ++ends.late;
      ends.most_s = std::max(ends.most_s, apart);
    }
  }
  return ends;
}

std::optional<Doubt> bad_replay(const AnalysedJob& job) {
  const WhatIf& result = job.result;
  if (result.discrepancy < kTrustedDiscrepancy) return std::nullopt;
  const double ratio = mean(result.nodelay.span_s) / mean(result.base_s);
  const std::string differs = fmt::format("the replay takes {:.2f}x as long as the recording", ratio);
  if (ratio < 1) {
    return Doubt{differs + "; the recorded operations do not cover the whole step",
                 "record what runs between the recorded operations"};
  }
  if (job.recording.naming == WorkerGrid::Naming::kByRank)
    return Doubt{differs +
                     "; ranks probably wait in ways that the trace does not show (gloo records the ends of "
                     "messages late)",
                 "profile more steps, on CUDA devices with NCCL"};
  const LateEnds ends = find_late_ends(job.recording, job.graph);
  if (static_cast<double>(ends.late) > kOftenLate * static_cast<double>(ends.messages)) {
    return Doubt{
        fmt::format("{}; messages probably end earlier than recorded: the ends of a send and its receive "
                    "differ by up to {:.3g} s, as if they were recorded when a process waits",
                    differs, ends.most_s),
        "record the end of each transfer when the transfer completes, on the sender too"};
  }
  return Doubt{differs + "; the replay probably runs overlapping operations one after another",
               "check that the operations are recorded as they ran"};
}

}  // namespace

std::optional<Doubt> find_doubt(const AnalysedJob& job) {
  if (job.recording.naming == WorkerGrid::Naming::kByRank) return bad_replay(job);
  if (auto doubt = contained_reductions(job.recording)) return doubt;
  return bad_replay(job);
}

}  // namespace goodput
