#include "sim/replay_values.h"

#include <algorithm>
#include <map>

namespace goodput {
namespace {

double ideal_of(const Recording& recording, const IdealValues& ideal, OpId op) {
  return ideal[index_of(recording.ops[op].type)];
}

lanes::Values recorded_row(const StepBlock& block, OpId op) {
  return {block.row(block.value_s, op).data(), 0};
}

}  // namespace

Coverage::Coverage(const InstanceSet& set, const StepBlock& block, std::size_t ops, Side side)
    : mask_of_op_(ops) {
  std::map<std::vector<std::uint32_t>, std::uint32_t> mask_of_boxes;
  std::vector<std::uint32_t> boxes;
  for (OpId op = 0; op < ops; ++op) {
    boxes.clear();
    for (std::uint32_t b = 0; b < set.boxes.size(); ++b) {
      if (set.boxes[b].ops[op] != 0) boxes.push_back(b);
    }
    const auto [entry, is_new] = mask_of_boxes.try_emplace(boxes, static_cast<std::uint32_t>(masks_.size()));
    mask_of_op_[op] = entry->second;
    if (!is_new) continue;
    Mask mask;
    mask.lanes.assign(block.shape.stride(), 0);
    std::size_t covered = 0;
    for (std::size_t dp = 0; dp < block.shape.replicas; ++dp) {
      for (std::size_t step = 0; step < block.shape.steps; ++step) {
        const bool inside = std::any_of(boxes.begin(), boxes.end(), [&](std::uint32_t b) {
          return set.boxes[b].steps[block.first_step + step] != 0 && set.boxes[b].dp_ranks[dp] != 0;
        });
        const bool is_covered = inside == (side == Side::kInside);
        mask.lanes[block.shape.lane(step, dp)] = is_covered ? 1 : 0;
        covered += is_covered ? 1 : 0;
      }
    }
    mask.extent = covered == 0                     ? Extent::kNone
                  : covered == block.shape.lanes() ? Extent::kAll
                                                   : Extent::kSome;
    masks_.push_back(std::move(mask));
  }
}

lanes::Values IdealReplay::value(OpId op, std::span<double> /*scratch*/) const {
  return {nullptr, ideal_of(recording_, ideal_, op)};
}

MixedReplay::MixedReplay(const Recording& recording, const StepBlock& block, const IdealValues& ideal,
                         const InstanceSet& set, Side recorded)
    : recording_(recording),
      block_(block),
      ideal_(ideal),
      coverage_(set, block, recording.ops.size(), recorded) {}

lanes::Values MixedReplay::value(OpId op, std::span<double> scratch) const {
  const double ideal = ideal_of(recording_, ideal_, op);
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

lanes::Values LoneReplicaReplay::value(OpId op, std::span<double> scratch) const {
  const double ideal = ideal_of(recording_, ideal_, op);
  if (recorded_ops_[op] == 0) return {nullptr, ideal};
  const std::size_t lanes = block_.shape.lanes();
  std::copy_n(recorded_row(block_, op).row, lanes, scratch.data());
  std::fill(scratch.begin() + static_cast<std::ptrdiff_t>(lanes), scratch.end(), ideal);
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
