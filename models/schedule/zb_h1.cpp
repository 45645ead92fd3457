// ZB-H1 (Qi et al., "Zero Bubble Pipeline Parallelism", 2023): 1F1B whose backward passes are split. Stage s
// leaves the gradients of weights of its last s micro-batches for later, so that they fill the time in which
// 1F1B waits for the stages behind it; no more activations are alive than under 1F1B.
// Step with passes f, b, w and m >= p: m (f+b+w) + (p-1) (f+b-w).
#include <algorithm>

#include "models/schedule/schedule.h"

namespace goodput {
namespace {

class ZbH1 final : public PipelineSchedule {
 public:
  [[nodiscard]] Status check(const ScheduleShape& shape) const override {
    return require_one_chunk(shape, "zb-h1");
  }

  [[nodiscard]] std::vector<Pass> passes(const ScheduleShape& shape, std::int32_t stage) const override {
    const std::int32_t m = shape.micro_batches;
    const std::int32_t warm_up = std::min(shape.stages - stage - 1, m);
    std::vector<Pass> passes;
    std::int32_t forwards = 0;
    std::int32_t weights = 0;
    const auto forward = [&] { passes.push_back({Pass::Kind::kForward, 0, forwards++}); };
    const auto weight = [&] { passes.push_back({Pass::Kind::kBackwardWeight, 0, weights++}); };
    while (forwards < warm_up) forward();
    for (std::int32_t backwards = 0; backwards < m; ++backwards) {
      if (forwards < m) forward();
      passes.push_back({Pass::Kind::kBackward, 0, backwards, true});
      if (backwards + 1 - weights > stage) weight();
    }
    while (weights < m) weight();
    return passes;
  }
  [[nodiscard]] bool is_recordable() const override { return false; }
};

}  // namespace

ScheduleInfo schedule_zb_h1() {
  static const ZbH1 schedule;
  return {"zb-h1", "zero-bubble H1: weight gradients fill the bubble; takes as much memory as 1F1B",
          schedule};
}

}  // namespace goodput
