// Interleaved 1F1B (Megatron-LM, Narayanan et al., 2021): every stage holds `chunks` pieces of the model, so
// that warm-up and cool-down take pieces of a pass. Bubble over the work: (p-1) / (v m).
#include <fmt/format.h>

#include "models/schedule/schedule.h"

namespace goodput {
namespace {

class Interleaved final : public PipelineSchedule {
 public:
  [[nodiscard]] Status check(const ScheduleShape& shape) const override {
    if (shape.chunks > 1 && shape.stages == 1) {
      return Error{
          fmt::format("{} chunks per stage, but pp is 1, so there is nothing to interleave; use vpp 1",
                      shape.chunks),
          {.pointer = "/parallel/vpp"}};
    }
    if (shape.chunks > 1 && shape.micro_batches % shape.stages != 0) {
      return Error{fmt::format("{} micro-batches per replica are not a multiple of the {} stages, which "
                               "interleaving (vpp {}) needs; change global_batch, micro_batch or dp",
                               shape.micro_batches, shape.stages, shape.chunks),
                   {.pointer = "/parallel/global_batch"}};
    }
    return Ok{};
  }
  [[nodiscard]] std::vector<Pass> passes(const ScheduleShape& shape, std::int32_t stage) const override {
    return passes_in_order(PassOrder::kOneForwardOneBackward, shape, stage);
  }
};

}  // namespace

ScheduleInfo schedule_interleaved() {
  static const Interleaved schedule;
  return {"interleaved", "1F1B over several model chunks per stage (virtual pipeline)", schedule};
}

}  // namespace goodput
