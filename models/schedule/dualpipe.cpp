// DualPipe (DeepSeek-V3 technical report, 2024, section 3.2.1): micro-batches enter at both ends. Stage s
// holds position s of one pipeline (chunk 0) and position p-1-s of the other (chunk 1), the same layers in a
// second copy. In the middle of the step every forward runs layer by layer in turn with a backward of the
// other direction, each hiding the communication of the other; at the end gradients of weights fill the
// bubble.
//
// "Near" is the pipeline whose entrance is closer to the stage; h counts the stages between.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "models/schedule/schedule.h"

namespace goodput {
namespace {

class StagePasses {
 public:
  StagePasses(const ScheduleShape& shape, std::int32_t stage)
      : half_(shape.micro_batches / 2),
        far_ends_(shape.stages / 2 - std::min(stage, shape.stages - 1 - stage) - 1),
        h_(std::min(stage, shape.stages - 1 - stage)),
        steady_(half_ - shape.stages + h_ + 1),
        is_second_half_(stage >= shape.stages / 2) {}

  std::vector<Pass> list() && {
    repeat(2 * far_ends_, [&] { forward(kNear); });
    repeat(h_ + 1, [&] { forward(kNear), forward(kFar); });
    repeat(far_ends_, [&] { backward(kFar, true), weight(), forward(kFar); });
    repeat(steady_, [&] { both(kNear, kFar), both(kFar, kNear); });
    repeat(far_ends_, [&] { backward(kFar, false), both(kFar, kNear); });
    // The second half of these backwards leave their weights for the last passes.
    for (std::int32_t i = 0; i < 2 * (h_ + 1); ++i) backward(i % 2 == 0 ? kFar : kNear, i > h_);
    repeat(far_ends_, [&] { weight(), backward(kNear, true); });
    while (!owed_.empty()) weight();
    return std::move(passes_);
  }

 private:
  enum Side : std::uint8_t { kNear, kFar };

  template <typename Do>
  static void repeat(std::int32_t times, Do body) {
    for (std::int32_t i = 0; i < times; ++i) body();
  }
  [[nodiscard]] std::int16_t chunk(Side side) const { return (side == kFar) != is_second_half_ ? 1 : 0; }
  // The first half of the micro-batches enters at stage 0, the second at the last stage.
  [[nodiscard]] std::int32_t micro_batch(Side side, std::int32_t index) const {
    return chunk(side) * half_ + index;
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

  std::int32_t half_;
  std::int32_t far_ends_;
  std::int32_t h_;
  std::int32_t steady_;
  bool is_second_half_;
  std::array<std::int32_t, 2> forwards_{};
  std::array<std::int32_t, 2> backwards_{};
  std::deque<Pass> owed_;
  std::vector<Pass> passes_;
};

class DualPipe final : public PipelineSchedule {
 public:
  [[nodiscard]] Status check(const ScheduleShape& shape) const override {
    if (shape.chunks != 1) {
      return Error{
          fmt::format("{} chunks per stage, but schedule \"dualpipe\" sets the chunks itself; use vpp 1",
                      shape.chunks),
          {.pointer = "/parallel/vpp"}};
    }
    if (shape.stages % 2 != 0) {
      return Error{fmt::format("{} stages, but schedule \"dualpipe\" needs an even number", shape.stages),
                   {.pointer = "/parallel/pp"}};
    }
    if (shape.micro_batches % 2 != 0 || shape.micro_batches < 2 * shape.stages) {
      return Error{fmt::format("{} micro-batches per replica, but schedule \"dualpipe\" needs an even number "
                               "of at least {}, twice the stages",
                               shape.micro_batches, 2 * shape.stages),
                   {.pointer = "/parallel/global_batch"}};
    }
    return Ok{};
  }

  [[nodiscard]] std::vector<Pass> passes(const ScheduleShape& shape, std::int32_t stage) const override {
    return StagePasses(shape, stage).list();
  }
  [[nodiscard]] std::int32_t chunks(const ScheduleShape& /*shape*/) const override { return 2; }
  [[nodiscard]] std::int32_t positions(const ScheduleShape& shape) const override { return shape.stages; }
  [[nodiscard]] ChunkPlace place(const ScheduleShape& shape, std::int32_t stage,
                                 std::int32_t chunk) const override {
    return chunk == 0 ? ChunkPlace{0, stage} : ChunkPlace{1, shape.stages - 1 - stage};
  }
  [[nodiscard]] bool is_recordable() const override { return false; }
};

}  // namespace

ScheduleInfo schedule_dualpipe() {
  static const DualPipe schedule;
  return {"dualpipe", "bidirectional with two copies of the model; forward passes overlap backward passes",
          schedule};
}

}  // namespace goodput
