#include "gpu/calibrate/token_path.h"

#include "gpu/bench/device_compare.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr std::uint64_t kTokenSeed = 100;
constexpr std::uint64_t kRowSeed = 101;

std::vector<float> drawn_weights(std::int64_t slots) {
  std::vector<float> weights;
  for (std::int64_t slot = 0; slot < slots; ++slot) weights.push_back(to_float(bench::payload(1, slot)) / 8);
  return weights;
}

bench::Check compare_stage(TokenStage stage, const bench::TokenOperands& operands) {
  switch (stage) {
    case TokenStage::kScatter:
      return check_scatter(operands);
    case TokenStage::kScatterBackward:
      return check_scatter_backward(operands);
    case TokenStage::kCombine:
      return check_combine(operands);
    case TokenStage::kCombineBackward:
      return check_combine_backward(operands);
  }
  return {};
}

}  // namespace

bench::LayerShape layer_of(const MoeShape& shape) {
  return {shape.tokens, shape.hidden, shape.top_k};
}

ChoiceWeights::ChoiceWeights(std::int64_t slots)
    : host(drawn_weights(slots)), device(upload(host)), gradients(host.size()) {}

std::uint64_t count_wrong_stage(TokenStage stage, const bench::LayerShape& layer,
                                const std::vector<std::int32_t>& positions, const StageBuffers& buffers,
                                ChoiceWeights& weights, const std::function<void(cudaStream_t)>& run,
                                const Stream& stream) {
  const bool reads_tokens = stage == TokenStage::kScatter || stage == TokenStage::kCombineBackward;
  const bool writes_choices = reads_tokens;  // and the other way round
  if (reads_tokens) {
    bench::fill_payload(buffers.token_rows, buffers.tokens, kTokenSeed, stream.get());
  } else {
    bench::fill_payload(buffers.choice_rows, buffers.choices, kRowSeed, stream.get());
  }
  if (buffers.also_read != nullptr)
    bench::fill_payload(buffers.also_read, buffers.choices, kRowSeed, stream.get());
  Bf16* const output = writes_choices ? buffers.choice_rows : buffers.token_rows;
  bench::poison(output, static_cast<std::size_t>(writes_choices ? buffers.choices : buffers.tokens), stream);
  bench::poison(weights.gradients.data(), weights.gradients.size(), stream);
  run(stream.get());
  stream.synchronize();
  return compare_stage(
             stage, {layer, positions, kTokenSeed, kRowSeed, weights.host, output, weights.gradients.data()})
      .nwrong;
}

}  // namespace goodput::gpu::calibrate
