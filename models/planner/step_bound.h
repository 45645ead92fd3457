// A time that no step of a pipeline shape can be shorter than, in a microsecond.
//
// A stage runs its passes one after the other. Its first one waits for the first micro-batch to come down the
// pipeline, its first backward for that micro-batch to come back up, and after its last backward the gradient
// has to go on up to the first position; then come reductions and the optimizer, in the order of Megatron-LM
// (docs/design.md, "What depends on what"). The longest such path of all stages is the bound. What it leaves
// out is that stages wait for each other in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/megatron/schedule_order.h"
#include "models/schedule/schedule.h"
#include "models/step/step_layout.h"

namespace goodput {

class StepBound {
 public:
  // REQUIRES: schedule.check(shape).
  StepBound(const PipelineSchedule& schedule, const ScheduleShape& shape);

  [[nodiscard]] const StepLayout& layout() const { return layout_; }

  // In nanoseconds. `values`: by entry of layout(), those of a plan or less.
  [[nodiscard]] double step(std::span<const double> values, const megatron::StepFeatures& features) const;

 private:
  // How often a stage pays for an entry: in all, until its first backward starts and from then on, until its
  // last backward ends and from then on.
  struct Work {
    std::size_t entry = 0;
    std::int32_t all = 0;
    std::int32_t to_first_backward = 0;
    std::int32_t from_first_backward = 0;
    std::int32_t to_last_backward = 0;
    std::int32_t after_last_backward = 0;
  };
  struct Chunk {
    std::int32_t pipeline = 0;
    std::int32_t position = 0;
    std::size_t forward = 0;         // entries of a pass
    std::size_t first_backward = 0;  // of its first and its last backward
    std::size_t last_backward = 0;
  };
  struct Stage {
    std::vector<Work> work;
    std::vector<Chunk> chunks;
    std::size_t first = 0;           // chunk of its first pass,
    std::size_t first_backward = 0;  // of its first backward
    std::size_t last_backward = 0;   // and of its last one
  };
  struct Times;

  [[nodiscard]] Stage stage_of(const PipelineSchedule& schedule, const ScheduleShape& shape,
                               std::int32_t stage, const std::vector<Pass>& passes) const;
  void find_first_forwards(Times& times, const megatron::StepFeatures& features) const;
  void find_backwards(Times& times) const;
  [[nodiscard]] double reductions_end(std::size_t stage, const Times& times,
                                      const megatron::StepFeatures& features) const;

  [[nodiscard]] std::size_t index(const Chunk& chunk) const {
    return static_cast<std::size_t>(chunk.pipeline) * static_cast<std::size_t>(layout_.positions()) +
           static_cast<std::size_t>(chunk.position);
  }

  StepLayout layout_;
  std::vector<Stage> stages_;
  std::vector<std::pair<std::size_t, std::size_t>> place_of_;  // stage and chunk, by pipeline and position
};

}  // namespace goodput
