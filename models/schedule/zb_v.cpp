// ZB-V (Qi et al., "Zero Bubble Pipeline Parallelism", 2023, arXiv 2401.10241): a V of two chunks per stage
// with split backward passes. The order is that of PyTorch's ScheduleZBVZeroBubble. As many activations are
// alive as on the first stage of 1F1B.
//
// Step with passes f, b, w of a chunk, free messages, max(f, w) <= b and m >= 2p-1:
//   2m (f+b+w) + (p-1) max(b, 2 (b-w)).
// With equal passes stage s starts s passes late, and no stage waits between its first and its last pass.
#include <algorithm>
#include <array>

#include "models/schedule/v_shape.h"

namespace goodput {
namespace {

class ZbVStage {
 public:
  explicit ZbVStage(const ScheduleShape& shape) : micro_batches_(shape.micro_batches) {}

  std::vector<Pass> list(std::int32_t stages, std::int32_t stage) && {
    // The order is that of at least so many micro-batches, without the passes of those that do not exist.
    const std::int32_t planned = std::max(2 * stages - 1, micro_batches_);
    const std::int32_t later = stages - stage;  // this stage and those after it
    repeat(2 * later - 1, [&] { forward(0); });
    repeat(stage, [&] { forward(1), forward(0); });
    repeat(later, [&] { forward(1), backward(1), weight(1); });
    while (forwards_[1] < planned) {
      if (forwards_[0] < planned) forward(0);
      backward(0), weight(0);
      forward(1), backward(1), weight(1);
    }
    repeat(stage, [&] { backward(0), backward(1); });
    repeat(later, [&] { backward(0), weight(0); });
    for (const std::int16_t chunk : {std::int16_t{1}, std::int16_t{0}}) {
      while (weights_[at(chunk)] < planned) weight(chunk);
    }
    return std::move(passes_);
  }

 private:
  template <typename Do>
  static void repeat(std::int32_t times, Do body) {
    for (std::int32_t i = 0; i < times; ++i) body();
  }
  static std::size_t at(std::int16_t chunk) { return static_cast<std::size_t>(chunk); }

  void forward(std::int16_t chunk) { add({Pass::Kind::kForward, chunk, forwards_[at(chunk)]++}); }
  void backward(std::int16_t chunk) { add({Pass::Kind::kBackward, chunk, backwards_[at(chunk)]++, true}); }
  void weight(std::int16_t chunk) { add({Pass::Kind::kBackwardWeight, chunk, weights_[at(chunk)]++}); }
  void add(const Pass& pass) {
    if (pass.micro_batch < micro_batches_) passes_.push_back(pass);
  }

  std::int32_t micro_batches_;
  std::array<std::int32_t, 2> forwards_{};  // by chunk
  std::array<std::int32_t, 2> backwards_{};
  std::array<std::int32_t, 2> weights_{};
  std::vector<Pass> passes_;
};

class ZbV final : public VShapedSchedule {
 public:
  ZbV() : VShapedSchedule("zb-v") {}

  [[nodiscard]] std::vector<Pass> passes(const ScheduleShape& shape, std::int32_t stage) const override {
    return ZbVStage(shape).list(shape.stages, stage);
  }
};

}  // namespace

ScheduleInfo schedule_zb_v() {
  static const ZbV schedule;
  return {"zb-v", "zero bubble with two chunks per stage in a V; takes as much memory as 1F1B", schedule};
}

}  // namespace goodput
