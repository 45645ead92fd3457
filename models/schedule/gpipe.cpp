// GPipe (Huang et al., 2019): all forward passes, then all backward passes. Activations of every micro-batch
// stay alive. Bubble, as a share of the time: (p-1) / (m+p-1).
#include "models/schedule/schedule.h"

namespace goodput {
namespace {

class Gpipe final : public PipelineSchedule {
 public:
  [[nodiscard]] Status check(const ScheduleShape& shape) const override {
    return require_one_chunk(shape, "gpipe");
  }
  [[nodiscard]] std::vector<Pass> passes(const ScheduleShape& shape, std::int32_t stage) const override {
    return passes_in_order(PassOrder::kAllForwardsFirst, shape, stage);
  }
};

}  // namespace

ScheduleInfo schedule_gpipe() {
  static const Gpipe schedule;
  return {"gpipe", "all forward passes, then all backward passes", schedule};
}

}  // namespace goodput
