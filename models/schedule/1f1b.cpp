// 1F1B (PipeDream-Flush; Narayanan et al., 2021): as many forwards as there are stages behind, then one
// forward and one backward in turn. Bubble, as a share of the time: (p-1) / (m+p-1).
#include "models/schedule/schedule.h"

namespace goodput {
namespace {

class OneForwardOneBackward final : public PipelineSchedule {
 public:
  [[nodiscard]] Status check(const ScheduleShape& shape) const override {
    return require_one_chunk(shape, "1f1b");
  }
  [[nodiscard]] std::vector<Pass> passes(const ScheduleShape& shape, std::int32_t stage) const override {
    return passes_in_order(PassOrder::kOneForwardOneBackward, shape, stage);
  }
};

}  // namespace

ScheduleInfo schedule_1f1b() {
  static const OneForwardOneBackward schedule;
  return {"1f1b", "one forward, one backward; keeps the fewest activations in memory", schedule};
}

}  // namespace goodput
