// The times of the ranks of a slot as arrays: one observation per lane and step, to infer rules from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/collectives/joined_ranks.h"
#include "models/collectives/matched_parts.h"

namespace goodput {

// Nanoseconds on the rank's clock.
struct Observation {
  std::uint32_t rank = 0;
  std::size_t step = 0;
  std::int64_t begin_ns = 0;          // of the step
  std::vector<std::int64_t> cut_end;  // by cut: when the segment before it has ended
  // By cut: the same, but if the track is idle until the communication launched there begins, and nothing
  // else holds that back, when it begins.
  std::vector<std::int64_t> cut_reached;
  std::vector<std::int64_t> part_begin;  // by part
  std::vector<std::int64_t> part_end;

  // When the segment before a cut may begin.
  [[nodiscard]] std::int64_t segment_begin(std::size_t cut) const {
    return cut == 0 ? begin_ns : cut_end[cut - 1];
  }
};

struct SlotTimes {
  std::vector<Observation> observations;  // lane * steps + step
};

// By slot. gloo stamps the end of a message only when somebody waits for it. A gloo message therefore ends
// one usual transfer (the 10th percentile over all receives) after the later of its two begins, or at its
// stamp if that is earlier.
[[nodiscard]] std::vector<SlotTimes> track_times(const JoinedRanks& joined, const MatchedParts& matched);

}  // namespace goodput
