// By this repository's dispatcher (gpu/dispatcher.h).
#include <numeric>
#include <utility>

#include "gpu/bench/device_compare.h"
#include "gpu/calibrate/product_data.h"
#include "gpu/calibrate/token_path.h"
#include "gpu/reference_layout.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr std::int64_t kRowPayload = 102;

class FlexiblePath final : public TokenPath {
 public:
  FlexiblePath(const MoeShape& shape, const PathRows& rows, const Stream& stream)
      : layer_(layer_of(shape)),
        rows_(rows),
        is_alone_(shape.ranks == 1),
        rank_(routed_input(shape), layer_, moe::DispatchPolicy::kProportional, CopyPath::kAuto, stream),
        weights_(layer_.slots()),
        send_(size(layer_.slots())),
        back_(size(layer_.slots())),
        d_back_(size(layer_.slots())),
        received_(size(rank_.rows_received())),
        arriving_(size(is_alone_ ? 0 : rank_.rows_received())),
        leaving_(arriving_.size()) {
    // Allocates what regroup needs, and makes the map that ungroup does.
    dispatcher().regroup(received_.data(), rows.to_experts, rank_.rows_received(), stream.get());
    stream.synchronize();
  }

  void fill(cudaStream_t stream) override {
    std::uint64_t seed = 300;
    for (DeviceBuffer<Bf16>* const buffer : {&back_, &received_, &arriving_}) {
      if (buffer->size() == 0) continue;
      fill_matrix(buffer->data(), MatrixType::kBf16, static_cast<std::int64_t>(buffer->size()),
                  MatrixFill::kDense, seed++, stream);
    }
  }

  std::vector<BlockPart> parts_to_experts() override {
    return {part("count", [this](cudaStream_t s) { count(s); }),
            part("schedule", [this](cudaStream_t s) { dispatcher().schedule(s); }),
            part("positions", [this](cudaStream_t s) { dispatcher().place(s); }),
            part("scatter", [this](cudaStream_t s) { dispatcher().scatter(rows_.x, send_.data(), s); }),
            part("all_to_all",
                 [this](cudaStream_t s) {
                   dispatcher().join_host_counts(s);  // by which a host would know how many rows to send
                   receive(send_, s);
                 }),
            part("regroup", [this](cudaStream_t s) { regroup(rows_.to_experts, s); })};
  }
  std::vector<BlockPart> parts_back() override {
    return {part("ungroup", [this](cudaStream_t s) { ungroup(rows_.from_experts, s); }),
            part("all_to_all_back", [this](cudaStream_t s) { return_to(back_, s); }),
            part("combine", [this](cudaStream_t s) { combine(s); })};
  }
  std::vector<BlockPart> backward_parts_to_experts() override {
    return {backward_part("combine", [this](cudaStream_t s) { combine_backward(s); }),
            backward_part("all_to_all", [this](cudaStream_t s) { receive(d_back_, s); }),
            backward_part("regroup", [this](cudaStream_t s) { regroup(rows_.d_from_experts, s); })};
  }
  std::vector<BlockPart> backward_parts_back() override {
    return {backward_part("ungroup", [this](cudaStream_t s) { ungroup(rows_.d_to_experts, s); }),
            backward_part("all_to_all_back", [this](cudaStream_t s) { return_to(d_back_, s); }),
            backward_part("scatter", [this](cudaStream_t s) {
              dispatcher().scatter_backward(d_back_.data(), rows_.dx, s);
            })};
  }

  std::uint64_t count_wrong(const Stream& stream) override {
    count(stream.get());
    dispatcher().schedule(stream.get());
    dispatcher().place(stream.get());
    stream.synchronize();
    const std::vector<std::int32_t> positions = rank_.compute_positions();
    const std::int64_t tokens = layer_.tokens * layer_.hidden;
    const std::int64_t choices = layer_.slots() * layer_.hidden;
    const auto stage = [&](TokenStage which, Bf16* of_tokens, DeviceBuffer<Bf16>& of_choices, Bf16* also_read,
                           const std::function<void(cudaStream_t)>& run) {
      return count_wrong_stage(which, layer_, positions,
                               {of_tokens, tokens, of_choices.data(), choices, also_read}, weights_, run,
                               stream);
    };
    return stage(TokenStage::kScatter, rows_.x, send_, nullptr,
                 [this](cudaStream_t s) { dispatcher().scatter(rows_.x, send_.data(), s); }) +
           stage(TokenStage::kCombine, rows_.y, back_, nullptr, [this](cudaStream_t s) { combine(s); }) +
           stage(TokenStage::kCombineBackward, rows_.dy, d_back_, back_.data(),
                 [this](cudaStream_t s) { combine_backward(s); }) +
           stage(TokenStage::kScatterBackward, rows_.dx, d_back_, nullptr,
                 [this](cudaStream_t s) { dispatcher().scatter_backward(d_back_.data(), rows_.dx, s); }) +
           count_wrong_received(stream);
  }

 private:
  [[nodiscard]] std::size_t size(std::int64_t rows) const {
    return static_cast<std::size_t>(rows * layer_.hidden);
  }
  static BlockPart part(const char* name, std::function<void(cudaStream_t)> run) {
    return {name, false, std::move(run)};
  }
  static BlockPart backward_part(const char* name, std::function<void(cudaStream_t)> run) {
    return {name, true, std::move(run)};
  }
  Dispatcher& dispatcher() { return rank_.dispatcher(); }

  void count(cudaStream_t stream) {
    dispatcher().count(rank_.device_routing(), static_cast<std::int32_t>(layer_.tokens), stream);
  }
  // A rank that is alone receives what it sends.
  void receive(const DeviceBuffer<Bf16>& sent, cudaStream_t stream) {
    copy(is_alone_ ? sent.data() : arriving_.data(), received_.data(), stream);
  }
  void return_to(DeviceBuffer<Bf16>& back, cudaStream_t stream) {
    copy(received_.data(), is_alone_ ? back.data() : leaving_.data(), stream);
  }
  void copy(const Bf16* from, Bf16* to, cudaStream_t stream) {
    GOODPUT_CUDA(
        cudaMemcpyAsync(to, from, received_.size() * sizeof(Bf16), cudaMemcpyDeviceToDevice, stream));
  }
  void regroup(Bf16* grouped, cudaStream_t stream) {
    dispatcher().regroup(received_.data(), grouped, rank_.rows_received(), stream);
  }
  void ungroup(const Bf16* grouped, cudaStream_t stream) {
    dispatcher().ungroup(grouped, received_.data(), rank_.rows_received(), stream);
  }
  void combine(cudaStream_t stream) {
    dispatcher().combine(back_.data(), weights_.device.data(), rows_.y, stream);
  }
  void combine_backward(cudaStream_t stream) {
    dispatcher().combine_backward(rows_.dy, back_.data(), weights_.device.data(), d_back_.data(),
                                  weights_.gradients.data(), stream);
  }

  [[nodiscard]] std::uint64_t count_wrong_received(const Stream& stream) {
    const std::vector<std::int32_t> grouped = reference::regroup_rows(rank_.layout());
    std::vector<std::int32_t> received(grouped.size());
    std::iota(received.begin(), received.end(), 0);
    const auto elements = static_cast<std::int64_t>(received_.size());
    bench::fill_payload(received_.data(), elements, kRowPayload, stream.get());
    bench::poison(rows_.to_experts, received_.size(), stream);
    regroup(rows_.to_experts, stream.get());
    stream.synchronize();
    const std::uint64_t wrong =
        bench::check_moved_rows(received, grouped, layer_.hidden, kRowPayload, rows_.to_experts).nwrong;
    bench::fill_payload(rows_.from_experts, elements, kRowPayload, stream.get());
    bench::poison(received_.data(), received_.size(), stream);
    ungroup(rows_.from_experts, stream.get());
    stream.synchronize();
    return wrong +
           bench::check_moved_rows(grouped, received, layer_.hidden, kRowPayload, received_.data()).nwrong;
  }

  bench::LayerShape layer_;
  PathRows rows_;
  bool is_alone_;
  bench::RoutedRank rank_;
  ChoiceWeights weights_;
  DeviceBuffer<Bf16> send_;
  DeviceBuffer<Bf16> back_;
  DeviceBuffer<Bf16> d_back_;
  DeviceBuffer<Bf16> received_;
  DeviceBuffer<Bf16> arriving_;  // rows of other ranks; none where there are none
  DeviceBuffer<Bf16> leaving_;
};

}  // namespace

std::unique_ptr<TokenPath> make_flexible_path(const MoeShape& shape, const PathRows& rows,
                                              const Stream& stream) {
  return std::make_unique<FlexiblePath>(shape, rows, stream);
}

}  // namespace goodput::gpu::calibrate
