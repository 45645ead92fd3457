#include "sim/whatif/root_cause_replay.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "sim/base/parallel.h"
#include "sim/base/statistics.h"

namespace goodput {
namespace {

class RepairedReplay final : public OpValues {
 public:
  // `patches`: of this block, by op.
  RepairedReplay(const Recording& recording, const StepBlock& block, std::span<const Patch> patches,
                 const std::vector<double>& pass_factor)
      : recording_(recording), block_(block), patches_(patches), pass_factor_(pass_factor) {}

  [[nodiscard]] lanes::Values value(OpId op, std::span<double> scratch) const override {
    const auto recorded = block_.row(block_.value_s, op);
    const auto [first, last] = std::equal_range(patches_.begin(), patches_.end(), Patch{0, op, 0, 0},
                                                [](const Patch& a, const Patch& b) { return a.op < b.op; });
    const bool is_scaled = !pass_factor_.empty() && is_pass_compute(recording_.ops[op].type);
    if (first == last && !is_scaled) return {recorded.data(), 0};
    std::ranges::copy(recorded, scratch.begin());
    if (is_scaled) scale(static_cast<std::size_t>(recording_.ops[op].stage), scratch);
    for (auto patch = first; patch != last; ++patch) scratch[patch->lane] = patch->value_s;
    return {scratch.data(), 0};
  }

 private:
  void scale(std::size_t stage, std::span<double> row) const {
    for (std::size_t lane = 0; lane < block_.shape.lanes(); ++lane) {
      const std::size_t dp = lane / block_.shape.steps;
      row[lane] *= pass_factor_[dp * static_cast<std::size_t>(recording_.pp_size) + stage];
    }
  }

  const Recording& recording_;
  const StepBlock& block_;
  std::span<const Patch> patches_;
  const std::vector<double>& pass_factor_;
};

}  // namespace

double saved_share(const OpGraph& graph, const Recording& recording, const WhatIf& result, Repair repair,
                   unsigned jobs) {
  std::sort(repair.patches.begin(), repair.patches.end(), [](const Patch& a, const Patch& b) {
    return std::tuple(a.block, a.op, a.lane) < std::tuple(b.block, b.op, b.lane);
  });
  std::vector<double> spans = result.nodelay.span_s;
  parallel_chunks(jobs, recording.blocks.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const StepBlock& block = recording.blocks[i];
      const auto [first, last] =
          std::equal_range(repair.patches.begin(), repair.patches.end(), Patch{i, 0, 0, 0},
                           [](const Patch& a, const Patch& b) { return a.block < b.block; });
      if (first == last && repair.pass_factor.empty()) continue;
      TimingEngine engine(graph, block.shape, {}, TimingEngine::Keep::kStepTimes);
      engine.propagate(RepairedReplay(recording, block, {first, last}, repair.pass_factor));
      std::ranges::copy(engine.spans(), spans.begin() + static_cast<std::ptrdiff_t>(block.first_step));
    }
  });
  return 1 - mean(spans) / mean(result.nodelay.span_s);
}

}  // namespace goodput
