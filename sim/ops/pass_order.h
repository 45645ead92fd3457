// In which order a pipeline stage runs its forward and backward passes, and which chunk and micro-batch each
// is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace goodput {

enum class PassOrder : std::uint8_t {
  kOneForwardOneBackward,  // 1F1B, with several chunks a stage interleaved, as Megatron-LM runs it
  kAllForwardsFirst,       // GPipe; also interleaved 1F1B with as many micro-batches as stages in older
                           // Megatron-LM
};

struct PipelineShape {
  std::int64_t stages = 1;
  std::int64_t chunks = 1;  // a stage (virtual pipeline)
};

// For people: "1F1B", "interleaved 1F1B (2 chunks)", "all forwards first".
[[nodiscard]] std::string name_of(PassOrder order, const PipelineShape& shape);

// How many forward passes stage `stage` runs before its first backward pass, of `passes` in each direction.
[[nodiscard]] std::int64_t forwards_before_alternation(PassOrder order, const PipelineShape& shape,
                                                       std::int64_t stage, std::int64_t passes);

// Whether the pass at `index` is a backward, when `leading` forwards come first and then one of each in turn.
[[nodiscard]] bool is_backward_at(std::int64_t index, std::int64_t leading, std::int64_t passes);

struct PassTarget {
  std::int64_t chunk = 0;
  std::int64_t micro_batch = 0;
};

// What the k-th forward pass of a stage works on: micro-batches in groups of as many as there are stages,
// each group through every chunk. Backward passes take the chunks from the last to the first.
[[nodiscard]] PassTarget forward_target(const PipelineShape& shape, std::int64_t k);
[[nodiscard]] PassTarget backward_target(const PipelineShape& shape, std::int64_t k);

}  // namespace goodput
