#include "sim/whatif/replay_values.h"

#include <algorithm>

namespace goodput {
namespace {

lanes::Values recorded_row(const StepBlock& block, OpId op) {
  return {block.row(block.value_s, op).data(), 0};
}

}  // namespace

// Ops in the same boxes share a mask: the ops are split box by box, and numbered in order of appearance.
Coverage::Coverage(const InstanceSet& set, const StepBlock& block, std::size_t ops, Side side)
    : mask_of_op_(ops, 0) {
  std::size_t masks = ops == 0 ? 0 : 1;
  for (const InstanceBox& box : set.boxes) {
    constexpr std::uint32_t kUnseen = ~0U;
    std::vector<std::uint32_t> split(2 * masks, kUnseen);
    masks = 0;
    for (std::size_t op = 0; op < ops; ++op) {
      std::uint32_t& mask = split[2 * mask_of_op_[op] + (box.ops[op] != 0 ? 1 : 0)];
      if (mask == kUnseen) mask = static_cast<std::uint32_t>(masks++);
      mask_of_op_[op] = mask;
    }
  }
  for (std::size_t op = 0; op < ops; ++op) {
    if (mask_of_op_[op] == masks_.size()) masks_.push_back(make_mask(set, block, op, side));
  }
}

Coverage::Mask Coverage::make_mask(const InstanceSet& set, const StepBlock& block, std::size_t op,
                                   Side side) {
  Mask mask;
  mask.lanes.assign(block.shape.stride(), 0);
  std::size_t covered = 0;
  for (std::size_t dp = 0; dp < block.shape.replicas; ++dp) {
    for (std::size_t step = 0; step < block.shape.steps; ++step) {
      const bool inside = std::any_of(set.boxes.begin(), set.boxes.end(), [&](const InstanceBox& box) {
        return box.ops[op] != 0 && box.steps[block.first_step + step] != 0 && box.dp_ranks[dp] != 0;
      });
      const bool is_covered = inside == (side == Side::kInside);
      mask.lanes[block.shape.lane(step, dp)] = is_covered ? 1 : 0;
      covered += is_covered ? 1 : 0;
    }
  }
  if (covered > 0) mask.extent = covered == block.shape.lanes() ? Extent::kAll : Extent::kSome;
  return mask;
}

lanes::Values IdealReplay::value(OpId op, std::span<double> /*scratch*/) const {
  return {nullptr, ideal_[op]};
}

MixedReplay::MixedReplay(const StepBlock& block, const IdealValues& ideal, const InstanceSet& set,
                         Side recorded)
    : block_(block), ideal_(ideal), coverage_(set, block, ideal.size(), recorded) {}

lanes::Values MixedReplay::value(OpId op, std::span<double> scratch) const {
  const double ideal = ideal_[op];
  const lanes::Values recorded = recorded_row(block_, op);
  switch (coverage_.extent(op)) {
    case Coverage::Extent::kAll:
      return recorded;
    case Coverage::Extent::kNone:
      return {nullptr, ideal};
    case Coverage::Extent::kSome:
      break;
  }
  lanes::blend(scratch.data(), coverage_.mask(op), recorded.row, ideal, scratch.size());
  return {scratch.data(), 0};
}

LoneReplicaReplay::LoneReplicaReplay(const StepBlock& block, const IdealValues& ideal,
                                     const std::vector<char>& recorded_ops,
                                     std::span<const std::uint32_t> replicas)
    : block_(block), ideal_(ideal), recorded_ops_(recorded_ops) {
  const std::size_t steps = block.shape.steps;
  for (const std::uint32_t replica : replicas) {
    if (runs_.empty() || runs_.back().first + runs_.back().count != replica * steps) {
      runs_.push_back({replica * steps, 0});
    }
    runs_.back().count += steps;
  }
}

lanes::Values LoneReplicaReplay::value(OpId op, std::span<double> scratch) const {
  if (recorded_ops_[op] == 0) return {nullptr, ideal_[op]};
  auto next = scratch.begin();
  const double* row = recorded_row(block_, op).row;
  for (const Run& run : runs_) next = std::copy_n(row + run.first, run.count, next);
  std::fill(next, scratch.end(), ideal_[op]);
  return {scratch.data(), 0};
}

lanes::Values DelayedReplay::value(OpId op, std::span<double> /*scratch*/) const {
  return recorded_row(block_, op);
}

lanes::Values DelayedReplay::delay(OpId op, std::span<double> scratch) const {
  const lanes::Values recorded{block_.row(delays_s_, op).data(), 0};
  switch (coverage_.extent(op)) {
    case Coverage::Extent::kAll:
      return recorded;
    case Coverage::Extent::kNone:
      return {};
    case Coverage::Extent::kSome:
      break;
  }
  lanes::blend(scratch.data(), coverage_.mask(op), recorded.row, 0, scratch.size());
  return {scratch.data(), 0};
}

}  // namespace goodput
