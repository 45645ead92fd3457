#include "sim/ops/pass_order.h"

#include <fmt/format.h>

#include <algorithm>

namespace goodput {

std::string name_of(PassOrder order, const PipelineShape& shape) {
  if (order == PassOrder::kAllForwardsFirst) return "all forward passes first";
  return shape.chunks == 1 ? "1F1B" : fmt::format("interleaved 1F1B ({} chunks)", shape.chunks);
}

std::int64_t forwards_before_alternation(PassOrder order, const PipelineShape& shape, std::int64_t stage,
                                         std::int64_t passes) {
  if (order == PassOrder::kAllForwardsFirst) return passes;
  const std::int64_t stages_behind = shape.stages - stage - 1;
  // Megatron-LM: get_num_warmup_microbatches and forward_backward_pipelining_with_interleaving.
  const std::int64_t warm_up =
      shape.chunks == 1 ? stages_behind : 2 * stages_behind + (shape.chunks - 1) * shape.stages;
  return std::min(warm_up, passes);
}

bool is_backward_at(std::int64_t index, std::int64_t leading, std::int64_t passes) {
  const std::int64_t alternating = 2 * (passes - leading);
  if (index < leading) return false;
  return index >= leading + alternating || (index - leading) % 2 == 1;
}

PassTarget forward_target(const PipelineShape& shape, std::int64_t k) {
  if (shape.chunks == 1) return {0, k};
  return {k / shape.stages % shape.chunks,
          k / (shape.stages * shape.chunks) * shape.stages + k % shape.stages};
}

PassTarget backward_target(const PipelineShape& shape, std::int64_t k) {
  const PassTarget mirrored = forward_target(shape, k);
  return {shape.chunks - 1 - mirrored.chunk, mirrored.micro_batch};
}

}  // namespace goodput
