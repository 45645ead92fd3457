#include "models/step/step_layout.h"

#include <algorithm>
#include <numeric>

#include "models/step/layer_work.h"
#include "models/step/paired_passes.h"

namespace goodput {
namespace {

double whole_pass(const std::vector<PartCost>& parts) {
  SimDuration total{};
  for (const PartCost& part : parts) total += part.time;
  return static_cast<double>(total.count());
}

// A position without layers has one part that takes no time.
std::vector<TurnPart> turn_parts_of(const std::vector<PartCost>& parts) {
  std::vector<TurnPart> turns;
  for (const PartCost& part : parts)
    turns.push_back({static_cast<double>(part.time.count()), info(part.part).is_communication});
  if (turns.empty()) turns.emplace_back();
  return turns;
}

}  // namespace

StepLayout::StepLayout(const PipelineSchedule& schedule, const ScheduleShape& shape)
    : stages_(shape.stages), positions_(schedule.positions(shape)) {
  const std::vector<std::vector<Pass>> all = schedule.all_passes(shape);
  for (std::int32_t stage = 0; stage < shape.stages; ++stage) {
    const std::vector<Pass>& passes = all[static_cast<std::size_t>(stage)];
    for (std::size_t i = 0; i < passes.size(); ++i) {
      if (!passes[i].overlaps_next) continue;
      const std::int32_t forward = schedule.place(shape, stage, passes[i].chunk).position;
      const std::int32_t backward = schedule.place(shape, stage, passes[i + 1].chunk).position;
      pairs_.try_emplace({forward, backward}, pairs_.size());
    }
  }
}

std::size_t StepLayout::entry_of(const Pass& pass, std::int32_t position) const {
  const std::size_t begin = passes_begin() + kOfPosition * static_cast<std::size_t>(position);
  if (pass.kind == Pass::Kind::kForward) return begin;
  if (pass.kind == Pass::Kind::kBackwardWeight) return begin + 3;
  return begin + (pass.splits_weight ? 2 : 1);
}

std::size_t StepLayout::entry_of_pair(std::int32_t forward, std::int32_t backward) const {
  return pairs_begin() + kOfPair * pairs_.at({forward, backward});
}

std::vector<double> StepLayout::values_but_pairs(const StepCosts& costs) const {
  std::vector<double> values(size());
  const auto add = [&](OpCost::Kind kind, std::int32_t count) {
    for (std::int32_t of = 0; of < count; ++of) {
      const OpCost cost{kind, of};
      values[entry_of(cost)] = static_cast<double>(value_of(cost, costs).time.count());
    }
  };
  for (const OpCost::Kind kind :
       {OpCost::Kind::kParamsGather, OpCost::Kind::kGradientReduction, OpCost::Kind::kSendOnward})
    add(kind, positions_);
  for (const OpCost::Kind kind :
       {OpCost::Kind::kLayernormReduction, OpCost::Kind::kClip, OpCost::Kind::kOptimizer})
    add(kind, stages_);
  for (const OpCost::Kind kind : {OpCost::Kind::kEmbeddingReduction, OpCost::Kind::kSeparateReduction})
    add(kind, 1);
  auto pass = values.begin() + static_cast<std::ptrdiff_t>(passes_begin());
  for (const ChunkCosts& chunk : costs.chunks) {
    for (const auto* parts : {&chunk.forward, &chunk.backward, &chunk.backward_input, &chunk.backward_weight})
      *pass++ = whole_pass(*parts);
  }
  return values;
}

std::vector<double> StepLayout::values(const StepCosts& costs) const {
  std::vector<double> values = values_but_pairs(costs);
  for (const auto& [positions, index] : pairs_) {
    const auto [forward, backward] = positions;
    const PairLengths lengths =
        pair_lengths(turn_parts_of(costs.chunks[static_cast<std::size_t>(forward)].forward),
                     turn_parts_of(costs.chunks[static_cast<std::size_t>(backward)].backward));
    double* const pair = values.data() + pairs_begin() + kOfPair * index;
    for (std::size_t i = 0; i < kLongestOfPair; ++i) pair[i] = lengths[i / 2][i % 2];
    pair[kLongestOfPair] = *std::max_element(pair, pair + kLongestOfPair);
  }
  return values;
}

std::vector<double> StepLayout::least_values(const StepCosts& costs) const {
  std::vector<double> values = values_but_pairs(costs);
  const Pass weight{.kind = Pass::Kind::kBackwardWeight};
  for (std::int32_t position = 0; position < positions_; ++position) {
    SimDuration least{};
    for (const PartCost& part : costs.chunks[static_cast<std::size_t>(position)].backward_weight)
      least += part.least;
    values[entry_of(weight, position)] = static_cast<double>(least.count());
  }
  for (const auto& [positions, index] : pairs_) {
    const double forward = values[entry_of(Pass{}, positions.first)];
    const double backward = values[entry_of(Pass{.kind = Pass::Kind::kBackward}, positions.second)];
    values[pairs_begin() + kOfPair * index + kLongestOfPair] = std::max(forward, backward);
  }
  return values;
}

}  // namespace goodput
