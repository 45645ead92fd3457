// When each segment of a slot could begin, and how long it took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/collectives/joined_ranks.h"
#include "models/collectives/track_times.h"
#include "models/collectives/wait_structure.h"

namespace goodput {

// Of one segment in one observation.
struct SegmentTime {
  std::int64_t ready_ns = 0;  // the latest end of what it waits for
  std::int64_t host_ns = 0;   // the part of its duration in which the device was idle
  std::int64_t work_ns = 0;   // the rest
};

struct SlotSegments {
  std::size_t cuts = 0;
  std::vector<SegmentTime> times;  // observation * cuts + cut

  [[nodiscard]] const SegmentTime& at(std::size_t observation, std::size_t cut) const {
    return times[observation * cuts + cut];
  }
};

// If a device is idle until communication is launched, its host was late: then the segment before the launch
// lasts until the communication begins. Moves the ends of such cuts in `times`, and fills cut_reached.
void stretch_to_late_launches(const JoinedRanks& joined, const RankSlot& slot, const SlotWaits& waits,
                              SlotTimes& times);

[[nodiscard]] SlotSegments time_segments(const JoinedRanks& joined, const SlotWaits& waits,
                                         const SlotTimes& times);

}  // namespace goodput
