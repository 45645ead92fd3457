#include "sim/recording/step_removal.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {
namespace {

// The rows of `block` for its steps at `kept` (indices into the block).
StepBlock block_of_steps(const StepBlock& block, std::size_t ops, std::span<const std::size_t> kept) {
  StepBlock result;
  result.shape = {kept.size(), block.shape.replicas};
  const std::size_t n = result.shape.stride();
  for (auto array : {&StepBlock::start_s, &StepBlock::end_s, &StepBlock::value_s}) {
    std::vector<double>& values = result.*array;
    values.resize(ops * n);
    for (OpId op = 0; op < ops; ++op) {
      const auto row = block.row(block.*array, op);
      for (std::size_t replica = 0; replica < block.shape.replicas; ++replica) {
        for (std::size_t step = 0; step < kept.size(); ++step)
          values[op * n + result.shape.lane(step, replica)] = row[block.shape.lane(kept[step], replica)];
      }
    }
  }
  return result;
}

template <typename T>
void keep(std::vector<T>& of_steps, std::span<const std::size_t> kept) {
  if (of_steps.empty()) return;
  for (std::size_t i = 0; i < kept.size(); ++i) of_steps[i] = of_steps[kept[i]];
  of_steps.resize(kept.size());
}

}  // namespace

void leave_out_steps(Recording& recording, std::span<const std::size_t> left_out) {
  if (left_out.empty()) return;
  std::vector<std::size_t> kept;
  std::vector<StepBlock> blocks;
  for (StepBlock& block : recording.blocks) {
    std::vector<std::size_t> of_block;
    for (std::size_t step = 0; step < block.shape.steps; ++step) {
      if (std::binary_search(left_out.begin(), left_out.end(), block.first_step + step)) continue;
      of_block.push_back(step);
    }
    const std::size_t first = kept.size();
    for (const std::size_t step : of_block) kept.push_back(block.first_step + step);
    if (of_block.empty()) continue;
    blocks.push_back(of_block.size() == block.shape.steps
                         ? std::move(block)
                         : block_of_steps(block, recording.ops.size(), of_block));
    blocks.back().first_step = first;
  }
  GOODPUT_CHECK(!kept.empty(), "at least one step must be kept");
  recording.blocks = std::move(blocks);
  keep(recording.steps, kept);
  keep(recording.step_origin_s, kept);
  keep(recording.step_base_s, kept);
  keep(recording.subtracted_s, kept);
}

}  // namespace goodput
