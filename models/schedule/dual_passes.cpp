#include "models/schedule/dual_passes.h"

#include <array>
#include <deque>
#include <utility>

namespace goodput {
namespace {

class DualPasses {
 public:
  explicit DualPasses(const DualStage& stage) : stage_(stage) {}

  std::vector<Pass> list() && {
    const std::int32_t h = stage_.to_entrance;
    const std::int32_t far_ends = stage_.to_turn;
    const std::int32_t steady = stage_.micro_batches - (h + 1 + 2 * far_ends);
    repeat(2 * far_ends, [&] { forward(kNear); });
    repeat(h + 1, [&] { forward(kNear), forward(kFar); });
    repeat(far_ends, [&] { backward(kFar, true), weight(), forward(kFar); });
    repeat(steady, [&] { both(kNear, kFar), both(kFar, kNear); });
    repeat(far_ends, [&] { backward(kFar, false), both(kFar, kNear); });
    // The second half of these backwards leave their weights for the last passes.
    for (std::int32_t i = 0; i < 2 * (h + 1); ++i) backward(i % 2 == 0 ? kFar : kNear, i > h);
    repeat(far_ends, [&] { weight(), backward(kNear, true); });
    while (!owed_.empty()) weight();
    return std::move(passes_);
  }

 private:
  enum Side : std::uint8_t { kNear, kFar };

  template <typename Do>
  static void repeat(std::int32_t times, Do body) {
    for (std::int32_t i = 0; i < times; ++i) body();
  }
  [[nodiscard]] std::int16_t chunk(Side side) const {
    return side == kNear ? stage_.near_chunk : static_cast<std::int16_t>(1 - stage_.near_chunk);
  }
  [[nodiscard]] std::int32_t micro_batch(Side side, std::int32_t index) const {
    return chunk(side) * stage_.first_of_chunk_1 + index;
  }
  void forward(Side side) {
    passes_.push_back({Pass::Kind::kForward, chunk(side), micro_batch(side, forwards_[side]++)});
  }
  void backward(Side side, bool splits_weight) {
    const std::int32_t index = micro_batch(side, backwards_[side]++);
    passes_.push_back({Pass::Kind::kBackward, chunk(side), index, splits_weight});
    if (splits_weight) owed_.push_back({Pass::Kind::kBackwardWeight, chunk(side), index});
  }
  void weight() {
    passes_.push_back(owed_.front());
    owed_.pop_front();
  }
  void both(Side forward_side, Side backward_side) {
    forward(forward_side);
    passes_.back().overlaps_next = true;
    backward(backward_side, false);
  }

  const DualStage& stage_;
  std::array<std::int32_t, 2> forwards_{};
  std::array<std::int32_t, 2> backwards_{};
  std::deque<Pass> owed_;
  std::vector<Pass> passes_;
};

}  // namespace

std::vector<Pass> dual_passes(const DualStage& stage) {
  return DualPasses(stage).list();
}

}  // namespace goodput
