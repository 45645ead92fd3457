// Where the time of a job and of its nodes went: two views, each of which adds up.
#pragma once

#include <array>
#include <cstdint>

#include "sim/base/units.h"
#include "sim/job/time_bucket.h"

namespace goodput {

struct JobLedger {
  std::array<SimDuration, kTimeBucketCount> time{};    // of the job; adds up to wall-clock time
  std::array<NodeTime, kTimeBucketCount> node_time{};  // adds up to the time for which nodes were held

  void spend(TimeBucket bucket, SimDuration duration, std::int32_t nodes);
  void idle(SimDuration duration, std::int32_t nodes);
  // Steps that were thought productive are lost.
  void waste(SimDuration duration, NodeTime node_time);

  [[nodiscard]] SimDuration total() const;
  [[nodiscard]] NodeTime node_total() const;
};

}  // namespace goodput
