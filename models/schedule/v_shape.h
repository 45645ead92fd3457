// Schedules in the shape of a V: the model runs down the stages to the last one and back up to the first.
#pragma once

#include <string_view>

#include "models/schedule/schedule.h"

namespace goodput {

// Stage s of p holds positions s (chunk 0) and 2p-1-s (chunk 1) of one copy of the model. Stage 0 thus has
// the embedding and the output head, and the last stage hands positions p-1 and p over without a message.
class VShapedSchedule : public PipelineSchedule {
 public:
  explicit VShapedSchedule(std::string_view name) : name_(name) {}

  // The two chunks are the schedule's own: fails, naming the field, unless vpp is 1.
  [[nodiscard]] Status check(const ScheduleShape& shape) const override {
    return require_own_chunks(shape, name_);
  }
  [[nodiscard]] std::int32_t chunks(const ScheduleShape& /*shape*/) const final { return 2; }
  [[nodiscard]] std::int32_t positions(const ScheduleShape& shape) const final { return 2 * shape.stages; }
  [[nodiscard]] ChunkPlace place(const ScheduleShape& shape, std::int32_t stage,
                                 std::int32_t chunk) const final {
    return {0, chunk == 0 ? stage : positions(shape) - 1 - stage};
  }
  [[nodiscard]] bool is_recordable() const final { return false; }

 private:
  std::string_view name_;
};

}  // namespace goodput
