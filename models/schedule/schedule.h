// Pipeline schedules: in which order a stage runs its passes, and where its model chunks stand in the model.
//
// Adding one is a file models/schedule/<name>.cpp, which defines `schedule_<name>()`, and a line in
// models/schedule/schedules.def.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/pass_order.h"

namespace goodput {

struct ScheduleShape {
  std::int32_t stages = 1;
  std::int32_t chunks = 1;         // a stage holds (virtual pipeline)
  std::int32_t micro_batches = 1;  // of one replica and step
};

struct Pass {
  enum class Kind : std::uint8_t {
    kForward,
    kBackward,        // gradients of activations and, where the schedule does not split them, of weights
    kBackwardWeight,  // gradients of weights
  };
  Kind kind = Kind::kForward;
  std::int16_t chunk = 0;        // of the stage, 0 .. chunks-1
  std::int32_t micro_batch = 0;  // of the replica
  bool splits_weight = false;    // kBackward: the gradients of weights come later, as a pass of their own
  bool overlaps_next = false;    // a forward that runs layer by layer in turn with the backward after it

  friend bool operator==(const Pass&, const Pass&) = default;
};

// Where a model chunk stands: chunks pass activations on to the next position of the same pipeline.
struct ChunkPlace {
  std::int32_t pipeline = 0;  // bidirectional schedules run two, with a copy of the model each
  std::int32_t position = 0;  // 0: has the embedding

  friend bool operator==(const ChunkPlace&, const ChunkPlace&) = default;
};

class PipelineSchedule {
 public:
  virtual ~PipelineSchedule() = default;

  // What the schedule cannot run, naming the field of the plan ("/parallel/vpp: ..."): Error::where is the
  // field.
  [[nodiscard]] virtual Status check(const ScheduleShape& shape) const = 0;

  // Every pass of a stage in the order in which it runs them. REQUIRES: check(shape).
  [[nodiscard]] virtual std::vector<Pass> passes(const ScheduleShape& shape, std::int32_t stage) const = 0;
  // Of all stages: the same, which takes less time where stages are planned together.
  [[nodiscard]] virtual std::vector<std::vector<Pass>> all_passes(const ScheduleShape& shape) const;

  // Model chunks on a stage. shape.chunks, but bidirectional schedules hold one of each pipeline, and
  // V-shaped ones two of their pipeline.
  [[nodiscard]] virtual std::int32_t chunks(const ScheduleShape& shape) const { return shape.chunks; }
  // Positions in a pipeline: stages * chunks where there is one.
  [[nodiscard]] virtual std::int32_t positions(const ScheduleShape& shape) const;
  [[nodiscard]] virtual ChunkPlace place(const ScheduleShape& shape, std::int32_t stage,
                                         std::int32_t chunk) const;
  // Whether NDTimeline knows all its ops (no backward-weight, one pipeline).
  [[nodiscard]] virtual bool is_recordable() const { return true; }
};

// The passes of a stage that runs its forwards and backwards in the order that traces show
// (sim/ops/pass_order.h).
[[nodiscard]] std::vector<Pass> passes_in_order(PassOrder order, const ScheduleShape& shape,
                                                std::int32_t stage);

// Fails, naming the field, where a schedule that has one model chunk a stage is asked for several.
[[nodiscard]] Status require_one_chunk(const ScheduleShape& shape, std::string_view schedule);
// Fails, naming the field, where a schedule that sets the chunks of a stage itself is given others than
// vpp 1.
[[nodiscard]] Status require_own_chunks(const ScheduleShape& shape, std::string_view schedule);

// The stage that holds each position of pipeline 0.
[[nodiscard]] std::vector<std::int32_t> stages_by_position(const PipelineSchedule& schedule,
                                                           const ScheduleShape& shape);

// Whether the first and the last position of a pipeline are on one stage, which then has the embedding and
// the output head: always with one stage, and in V-shaped schedules.
enum class PipelineEnds : std::uint8_t { kApart, kTogether };
[[nodiscard]] PipelineEnds pipeline_ends(const PipelineSchedule& schedule, const ScheduleShape& shape);

struct ScheduleInfo {
  std::string_view name;
  std::string_view summary;
  const PipelineSchedule& schedule;
};
#define GOODPUT_SCHEDULE(name) ScheduleInfo schedule_##name();
#include "models/schedule/schedules.def"
#undef GOODPUT_SCHEDULE

[[nodiscard]] std::span<const ScheduleInfo> schedules();
// Error::where of an unknown name is its place in a plan.
[[nodiscard]] Result<const PipelineSchedule*> find_schedule(std::string_view name);

}  // namespace goodput
