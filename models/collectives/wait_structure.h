// What waits for what on a rank, found from all steps and all ranks of a slot together: a single observation
// cannot tell overlap from waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/collectives/joined_ranks.h"
#include "models/collectives/track_times.h"

namespace goodput {

struct SlotWaits {
  // By cut: the parts that the segment before it waits for, besides the segment before that.
  std::vector<std::vector<std::uint32_t>> of_segment;
  // By part: the cut whose segment it waits for; empty if it may begin with the step.
  std::vector<std::optional<std::uint32_t>> segment_of_part;
  // By part: the earlier parts that it waits for, on its own or another stream.
  std::vector<std::vector<std::uint32_t>> parts_of_part;
  std::size_t inferred = 0;  // number of parts whose wait is inferred from times alone
};

// The latest end of what a part waits for.
[[nodiscard]] std::int64_t part_ready_ns(const Observation& seen, const SlotWaits& waits, std::uint32_t part);

// With fewer observations (lanes x steps) no wait is inferred from times.
inline constexpr std::size_t kLeastObservations = 4;

// Finds what parts wait for; of_segment stays empty.
[[nodiscard]] SlotWaits find_waits_of_parts(const JoinedRanks& joined, const RankSlot& slot,
                                            const SlotTimes& times);
// Finds what segments wait for. REQUIRES: times after stretch_to_late_launches() (segment_times.h).
void find_waits_of_segments(const JoinedRanks& joined, const RankSlot& slot, const SlotTimes& times,
                            SlotWaits& waits);

}  // namespace goodput
