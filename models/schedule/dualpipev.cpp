// DualPipeV (DeepSeek's DualPipe repository, 2025; PyTorch's ScheduleDualPipeV): DualPipe cut in half.
// Instead of a second copy of the model entering at the other end, the one copy turns back on the last stage.
// Every stage runs the passes of DualPipe's half (models/schedule/dual_passes.h): chunk 0 is near, chunk 1
// far.
//
// Step with passes f, b, w of a chunk that take turns, free messages, w <= b and f <= b + w: 2m (f+b+w) plus
// the bubble max((p-1) (f+b-w), (p-1) (2b-w) - f), which is the first where (p-1) (b-f) <= f. DeepSeek's
// bubble, (PP/2-1) (F&B + B - 3W), counts both chunks: its PP is 2p, B includes W.
#include <fmt/format.h>

#include "models/schedule/dual_passes.h"
#include "models/schedule/v_shape.h"

namespace goodput {
namespace {

class DualPipeV final : public VShapedSchedule {
 public:
  DualPipeV() : VShapedSchedule("dualpipev") {}

  [[nodiscard]] Status check(const ScheduleShape& shape) const override {
    GOODPUT_TRY_STATUS(VShapedSchedule::check(shape));
    if (shape.micro_batches >= 2 * shape.stages) return Ok{};
    return Error{fmt::format("{} micro-batches per replica, but schedule \"dualpipev\" needs at least {}, "
                             "twice the stages",
                             shape.micro_batches, 2 * shape.stages),
                 {.pointer = "/parallel/global_batch"}};
  }
  [[nodiscard]] std::vector<Pass> passes(const ScheduleShape& shape, std::int32_t stage) const override {
    return dual_passes(
        {.to_entrance = stage, .to_turn = shape.stages - 1 - stage, .micro_batches = shape.micro_batches});
  }
};

}  // namespace

ScheduleInfo schedule_dualpipev() {
  static const DualPipeV schedule;
  return {"dualpipev", "DualPipe with one copy of the model, in a V; forward passes overlap backward passes",
          schedule};
}

}  // namespace goodput
