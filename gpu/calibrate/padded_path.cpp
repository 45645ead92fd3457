// As frameworks dispatch that pad: every expert's part of the send buffer has as many rows as the fullest
// expert, empty rows are zeros, and all of it is exchanged and computed.
#include <algorithm>

#include "gpu/bench/routed_rank.h"
#include "gpu/calibrate/token_path.h"

namespace goodput::gpu::calibrate {
namespace {

// The row of every choice: its expert's part, and its number among the expert's.
std::vector<std::int32_t> padded_positions(const std::vector<std::int32_t>& routing, std::int64_t experts,
                                           std::int64_t capacity) {
  std::vector<std::int32_t> next(static_cast<std::size_t>(experts));
  std::vector<std::int32_t> positions;
  for (const std::int32_t expert : routing) {
    positions.push_back(static_cast<std::int32_t>(expert * capacity) +
                        next[static_cast<std::size_t>(expert)]++);
  }
  return positions;
}

class PaddedPath final : public TokenPath {
 public:
  PaddedPath(const MoeShape& shape, const PathRows& rows, const Stream& stream)
      : layer_(layer_of(shape)),
        rows_(rows),
        all_rows_(shape.busiest_rows().front()),
        device_(copy_device()),
        rank_(routed_input(shape), layer_, moe::DispatchPolicy::kProportional, CopyPath::kAuto, stream),
        positions_(padded_positions(rank_.routing(), shape.experts(), all_rows_ / shape.ranks)),
        device_positions_(upload(positions_)),
        weights_(layer_.slots()),
        send_(size(all_rows_)),
        back_(size(all_rows_)) {}

  void fill(cudaStream_t stream) override {
    bench::fill_payload(back_.data(), static_cast<std::int64_t>(back_.size()), 300, stream);
  }

  // Positions are those of a placement without replicas, which a padded dispatch computes alike.
  std::vector<BlockPart> parts_to_experts() override {
    return {{"count", false,
             [this](cudaStream_t s) {
               rank_.dispatcher().count(rank_.device_routing(), static_cast<std::int32_t>(layer_.tokens), s);
             }},
            {"positions", false, [this](cudaStream_t s) { rank_.dispatcher().place(s); }},
            {"padding", false, [this](cudaStream_t s) { clear(s); }},
            {"scatter", false, [this](cudaStream_t s) { scatter(s); }},
            {"all_to_all", false, [this](cudaStream_t s) { copy(send_.data(), rows_.to_experts, s); }}};
  }
  std::vector<BlockPart> parts_back() override {
    return {{"all_to_all_back", false, [this](cudaStream_t s) { copy(rows_.from_experts, back_.data(), s); }},
            {"combine", false, [this](cudaStream_t s) { combine(s); }}};
  }
  std::vector<BlockPart> backward_parts_to_experts() override {
    return {{"padding", true, [this](cudaStream_t s) { clear(s); }},
            {"combine", true, [this](cudaStream_t s) { combine_backward(s); }},
            {"all_to_all", true, [this](cudaStream_t s) { copy(send_.data(), rows_.d_from_experts, s); }}};
  }
  std::vector<BlockPart> backward_parts_back() override {
    return {{"all_to_all_back", true, [this](cudaStream_t s) { copy(rows_.d_to_experts, send_.data(), s); }},
            {"scatter", true, [this](cudaStream_t s) { scatter_backward(s); }}};
  }

  std::uint64_t count_wrong(const Stream& stream) override {
    const std::int64_t tokens = layer_.tokens * layer_.hidden;
    const auto choices = static_cast<std::int64_t>(send_.size());
    const auto stage = [&](TokenStage which, Bf16* of_tokens, DeviceBuffer<Bf16>& of_choices, Bf16* also_read,
                           void (PaddedPath::*run)(cudaStream_t)) {
      return count_wrong_stage(
          which, layer_, positions_, {of_tokens, tokens, of_choices.data(), choices, also_read}, weights_,
          [this, run](cudaStream_t s) { (this->*run)(s); }, stream);
    };
    return stage(TokenStage::kScatter, rows_.x, send_, nullptr, &PaddedPath::scatter) +
           stage(TokenStage::kCombine, rows_.y, back_, nullptr, &PaddedPath::combine) +
           stage(TokenStage::kCombineBackward, rows_.dy, send_, back_.data(), &PaddedPath::combine_backward) +
           stage(TokenStage::kScatterBackward, rows_.dx, send_, nullptr, &PaddedPath::scatter_backward);
  }

 private:
  [[nodiscard]] std::size_t size(std::int64_t rows) const {
    return static_cast<std::size_t>(rows * layer_.hidden);
  }
  [[nodiscard]] TokenRows token_rows() const {
    return {layer_.element, static_cast<std::int32_t>(layer_.hidden), layer_.tokens,
            static_cast<std::int32_t>(layer_.top_k), device_positions_.data()};
  }
  void clear(cudaStream_t stream) {
    GOODPUT_CUDA(cudaMemsetAsync(send_.data(), 0, send_.size() * sizeof(Bf16), stream));
  }
  void copy(const Bf16* from, Bf16* to, cudaStream_t stream) {
    GOODPUT_CUDA(cudaMemcpyAsync(to, from, send_.size() * sizeof(Bf16), cudaMemcpyDeviceToDevice, stream));
  }
  void scatter(cudaStream_t stream) {
    scatter_rows({rows_.x, send_.data(), layer_.row_bytes(), layer_.tokens}, device_positions_.data(),
                 static_cast<std::int32_t>(layer_.top_k), CopyPath::kAuto, device_, stream);
  }
  void scatter_backward(cudaStream_t stream) {
    combine_rows(token_rows(), send_.data(), nullptr, rows_.dx, device_, stream);
  }
  void combine(cudaStream_t stream) {
    combine_rows(token_rows(), back_.data(), weights_.device.data(), rows_.y, device_, stream);
  }
  void combine_backward(cudaStream_t stream) {
    combine_rows_backward(token_rows(), rows_.dy, back_.data(), weights_.device.data(), send_.data(),
                          weights_.gradients.data(), device_, stream);
  }

  bench::LayerShape layer_;
  PathRows rows_;
  std::int64_t all_rows_;
  CopyDevice device_;
  bench::RoutedRank rank_;
  std::vector<std::int32_t> positions_;
  DeviceBuffer<std::int32_t> device_positions_;
  ChoiceWeights weights_;
  DeviceBuffer<Bf16> send_;
  DeviceBuffer<Bf16> back_;
};

}  // namespace

std::unique_ptr<TokenPath> make_padded_path(const MoeShape& shape, const PathRows& rows,
                                            const Stream& stream) {
  return std::make_unique<PaddedPath>(shape, rows, stream);
}

}  // namespace goodput::gpu::calibrate
