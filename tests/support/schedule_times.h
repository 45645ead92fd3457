// When the passes of a pipeline schedule run if messages are free.
#pragma once

#include <string_view>
#include <vector>

#include "models/schedule/schedule.h"

namespace goodput::testing {

// Durations of passes of a whole stage; its chunks share them. Everything else takes no time.
struct PassTimes {
  double forward = 1;
  double backward = 1;  // of activations
  double weight = 1;
};

struct ScheduleTimes {
  double step = 0;
  std::vector<double> first_start;  // of a stage's passes
  std::vector<double> last_end;
};

const PipelineSchedule& schedule_named(std::string_view name);

// By longest paths over the graph that Megatron's rules make of the schedule. REQUIRES:
// schedule.check(shape).
ScheduleTimes schedule_times(const PipelineSchedule& schedule, const ScheduleShape& shape,
                             const PassTimes& times);

inline double step_time(const PipelineSchedule& schedule, const ScheduleShape& shape,
                        const PassTimes& times) {
  return schedule_times(schedule, shape, times).step;
}

}  // namespace goodput::testing
