#include "models/checkpoint/save_cost.h"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.h"

namespace goodput {
namespace {

std::int64_t ceil_div(SimDuration a, SimDuration b) {
  return (a.count() + b.count() - 1) / b.count();
}

}  // namespace

SaveTimes save_times(const LevelWrites& snapshot, const LevelWrites& persist, const SavePath& path) {
  SaveTimes times{snapshot.peak / path.snapshot, persist.peak / path.storage};
  if (path.storage_total.value > 0)
    times.persist = std::max(times.persist, from_seconds(persist.total_bytes / path.storage_total.value));
  return times;
}

SimDuration save_stall(SaveMode mode, const SaveTimes& times, SimDuration forward_backward) {
  if (mode == SaveMode::kSync) return times.total();
  return std::max(SimDuration{0}, times.snapshot - forward_backward);
}

std::int64_t least_interval(SaveMode mode, const SaveTimes& times, SimDuration step, double duty) {
  GOODPUT_CHECK(step > SimDuration{0}, "a step must take time");
  GOODPUT_CHECK(duty > 0 && duty <= 1, "the storage duty must be above 0 and at most 1");
  // A duration of whole nanoseconds stays exact with duty 1.
  const SimDuration apart = duty == 1 ? times.persist
                                      : SimDuration{static_cast<SimDuration::rep>(
                                            std::ceil(static_cast<double>(times.persist.count()) / duty))};
  const SimDuration stands_still = mode == SaveMode::kSync ? times.total() : SimDuration{};
  return std::max<std::int64_t>(1, ceil_div(std::max(apart - stands_still, SimDuration{}), step));
}

std::int64_t least_buffered_interval(const SaveTiming& timing, SimDuration step) {
  GOODPUT_CHECK(step > SimDuration{0}, "a step must take time");
  const SimDuration apart = std::max(SimDuration{0}, timing.times.persist - timing.stall);
  return std::max<std::int64_t>(1, ceil_div(apart, step));
}

double mean_interval(const SaveTiming& timing, SimDuration step, std::int64_t interval) {
  GOODPUT_CHECK(step > SimDuration{0}, "a step must take time");
  return std::max(static_cast<double>(interval),
                  to_seconds(timing.times.persist - timing.stall) / to_seconds(step));
}

double saving_seconds(SimDuration stall, std::int64_t steps, double interval) {
  return to_seconds(stall) * static_cast<double>(steps) / interval;
}

}  // namespace goodput
