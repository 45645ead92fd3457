// How tokens get to the rows of a rank's experts and back, forward and backward: a mixture-of-experts block
// without its products. A copy on the device stands for the all-to-all. It moves as many rows as the rank
// receives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/bench/payload.h"
#include "gpu/bench/row_check.h"
#include "gpu/calibrate/block.h"
#include "gpu/calibrate/moe_shape.h"

namespace goodput::gpu::calibrate {

// Memory of the block, which the path reads and writes.
struct PathRows {
  // tokens x hidden
  Bf16* x;
  Bf16* y;
  Bf16* dy;
  Bf16* dx;
  // Rows of all experts of the rank x hidden
  Bf16* to_experts;
  Bf16* from_experts;
  Bf16* d_from_experts;
  Bf16* d_to_experts;
};

class TokenPath {
 public:
  virtual ~TokenPath() = default;

  // All that is read before it is written, but for PathRows.
  virtual void fill(cudaStream_t stream) = 0;
  // In order: x to to_experts, from_experts to y; dy to d_from_experts, d_to_experts to dx. REQUIRES: the
  // path outlives them, and they run in order.
  [[nodiscard]] virtual std::vector<BlockPart> parts_to_experts() = 0;
  [[nodiscard]] virtual std::vector<BlockPart> parts_back() = 0;
  [[nodiscard]] virtual std::vector<BlockPart> backward_parts_to_experts() = 0;
  [[nodiscard]] virtual std::vector<BlockPart> backward_parts_back() = 0;
  // Of all stages. Overwrites rows of the block, too.
  [[nodiscard]] virtual std::uint64_t count_wrong(const Stream& stream) = 0;
};

// Runs counts, schedule and places once, to find the numbers of rows. Throws CudaError.
[[nodiscard]] std::unique_ptr<TokenPath> make_flexible_path(const MoeShape& shape, const PathRows& rows,
                                                            const Stream& stream);
[[nodiscard]] std::unique_ptr<TokenPath> make_padded_path(const MoeShape& shape, const PathRows& rows,
                                                          const Stream& stream);

// What paths have in common.

[[nodiscard]] bench::LayerShape layer_of(const MoeShape& shape);

// Weights of every choice, on both sides.
struct ChoiceWeights {
  explicit ChoiceWeights(std::int64_t slots);

  std::vector<float> host;
  DeviceBuffer<float> device;
  DeviceBuffer<float> gradients;
};

// What a stage of tokens reads and leaves: rows of tokens, rows of choices.
struct StageBuffers {
  Bf16* token_rows;
  std::int64_t tokens;  // elements
  Bf16* choice_rows;
  std::int64_t choices;
  Bf16* also_read = nullptr;  // rows of choices that the backward pass of combine reads
};

enum class TokenStage : std::uint8_t { kScatter, kScatterBackward, kCombine, kCombineBackward };

// Fills what the stage reads, poisons what it writes, runs it, and compares. `positions`: tokens x top_k.
[[nodiscard]] std::uint64_t count_wrong_stage(TokenStage stage, const bench::LayerShape& layer,
                                              const std::vector<std::int32_t>& positions,
                                              const StageBuffers& buffers, ChoiceWeights& weights,
                                              const std::function<void(cudaStream_t)>& run,
                                              const Stream& stream);

}  // namespace goodput::gpu::calibrate
