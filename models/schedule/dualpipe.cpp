// DualPipe (DeepSeek-V3 technical report, 2024, section 3.2.1): micro-batches enter at both ends. Stage s
// holds position s of one pipeline (chunk 0) and position p-1-s of the other (chunk 1), the same layers in a
// second copy. In the middle of the step every forward runs layer by layer in turn with a backward of the
// other direction, each hiding the communication of the other; at the end gradients of weights fill the
// bubble.
//
// The order of a stage's passes: models/schedule/dual_passes.h, where the pipeline whose entrance is closer
// to the stage is the near one.
#include <fmt/format.h>

#include <algorithm>

#include "models/schedule/dual_passes.h"

namespace goodput {
namespace {

class DualPipe final : public PipelineSchedule {
 public:
  [[nodiscard]] Status check(const ScheduleShape& shape) const override {
    GOODPUT_TRY_STATUS(require_own_chunks(shape, "dualpipe"));
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
    const std::int32_t half = shape.stages / 2;
    const std::int32_t to_entrance = std::min(stage, shape.stages - 1 - stage);
    const bool is_second_half = stage >= half;
    // The first half of the micro-batches enters at stage 0, the second at the last stage.
    const std::int32_t each = shape.micro_batches / 2;
    return dual_passes({.to_entrance = to_entrance,
                        .to_turn = half - to_entrance - 1,
                        .micro_batches = each,
                        .near_chunk = static_cast<std::int16_t>(is_second_half ? 1 : 0),
                        .first_of_chunk_1 = each});
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
