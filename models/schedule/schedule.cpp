#include "models/schedule/schedule.h"

#include <fmt/format.h>

#include "sim/base/registry.h"
#include "sim/base/text.h"

namespace goodput {

std::int32_t PipelineSchedule::positions(const ScheduleShape& shape) const {
  return shape.stages * shape.chunks;
}

ChunkPlace PipelineSchedule::place(const ScheduleShape& shape, std::int32_t stage, std::int32_t chunk) const {
  return {0, chunk * shape.stages + stage};
}

std::vector<std::vector<Pass>> PipelineSchedule::all_passes(const ScheduleShape& shape) const {
  std::vector<std::vector<Pass>> all;
  for (std::int32_t stage = 0; stage < shape.stages; ++stage) all.push_back(passes(shape, stage));
  return all;
}

std::vector<Pass> passes_in_order(PassOrder order, const ScheduleShape& shape, std::int32_t stage) {
  const PipelineShape pipeline{shape.stages, shape.chunks};
  const std::int64_t each = std::int64_t{shape.chunks} * shape.micro_batches;
  const std::int64_t leading = forwards_before_alternation(order, pipeline, stage, each);
  std::vector<Pass> passes;
  passes.reserve(static_cast<std::size_t>(2 * each));
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  for (std::int64_t i = 0; i < 2 * each; ++i) {
    const bool backward = is_backward_at(i, leading, each);
    const PassTarget target =
        backward ? backward_target(pipeline, backwards++) : forward_target(pipeline, forwards++);
    passes.push_back({backward ? Pass::Kind::kBackward : Pass::Kind::kForward,
                      static_cast<std::int16_t>(target.chunk),
                      static_cast<std::int32_t>(target.micro_batch)});
  }
  return passes;
}

Status require_one_chunk(const ScheduleShape& shape, std::string_view schedule) {
  if (shape.chunks == 1) return Ok{};
  return Error{fmt::format("{} chunks per stage, but schedule {} supports only one; use \"interleaved\"",
                           shape.chunks, in_quotes(schedule)),
               {.pointer = "/parallel/vpp"}};
}

Status require_own_chunks(const ScheduleShape& shape, std::string_view schedule) {
  if (shape.chunks == 1) return Ok{};
  return Error{fmt::format("{} chunks per stage, but schedule {} sets the chunks itself; use vpp 1",
                           shape.chunks, in_quotes(schedule)),
               {.pointer = "/parallel/vpp"}};
}

std::vector<std::int32_t> stages_by_position(const PipelineSchedule& schedule, const ScheduleShape& shape) {
  std::vector<std::int32_t> stages(static_cast<std::size_t>(schedule.positions(shape)));
  for (std::int32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::int32_t chunk = 0; chunk < schedule.chunks(shape); ++chunk) {
      const ChunkPlace place = schedule.place(shape, stage, chunk);
      if (place.pipeline == 0) stages[static_cast<std::size_t>(place.position)] = stage;
    }
  }
  return stages;
}

// Position 0 of pipeline 0 is on stage 0.
PipelineEnds pipeline_ends(const PipelineSchedule& schedule, const ScheduleShape& shape) {
  const ChunkPlace last{0, schedule.positions(shape) - 1};
  for (std::int32_t chunk = 0; chunk < schedule.chunks(shape); ++chunk) {
    if (schedule.place(shape, 0, chunk) == last) return PipelineEnds::kTogether;
  }
  return PipelineEnds::kApart;
}

std::span<const ScheduleInfo> schedules() {
  static const Registry<ScheduleInfo> all = {
#define GOODPUT_SCHEDULE(name) schedule_##name(),
#include "models/schedule/schedules.def"
#undef GOODPUT_SCHEDULE
  };
  return all.infos();
}

Result<const PipelineSchedule*> find_schedule(std::string_view name) {
  const auto found = find_named(schedules(), "schedule", name);
  if (!found) return Error{found.error().what, {.pointer = "/parallel/schedule"}};
  return &found->schedule;
}

}  // namespace goodput
