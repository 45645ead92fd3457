#include "models/collectives/segment_times.h"

#include <algorithm>
#include <cstdlib>
#include <span>

namespace goodput {
namespace {

// Idle time of the device within [begin, end).
std::int64_t idle_within(std::span<const IdleGap> gaps, std::int64_t begin, std::int64_t end) {
  std::int64_t idle = 0;
  auto gap = std::ranges::upper_bound(gaps, begin, {}, &IdleGap::end_ns);
  for (; gap != gaps.end() && gap->begin_ns < end; ++gap)
    idle += std::max<std::int64_t>(0, std::min(end, gap->end_ns) - std::max(begin, gap->begin_ns));
  return idle;
}

// Whether the device is idle from `begin` to `end`, except for times too short to be seen.
bool is_idle(std::span<const IdleGap> gaps, std::int64_t begin, std::int64_t end) {
  return idle_within(gaps, begin, end) >= end - begin - kShortestDeviceGapNs;
}

}  // namespace

void stretch_to_late_launches(const JoinedRanks& joined, const RankSlot& slot, const SlotWaits& waits,
                              SlotTimes& times) {
  if (!joined.is_on_device()) return;  // a host reaches a cut when it launches it
  for (Observation& seen : times.observations) {
    const std::span<const IdleGap> gaps = joined.ranks()[seen.rank].gaps;
    for (std::uint32_t cut = 0; cut < slot.cuts.size(); ++cut) {
      if (cut > 0) seen.cut_end[cut] = std::max(seen.cut_end[cut], seen.cut_end[cut - 1]);
      for (std::uint32_t part = slot.first_part[cut]; part < slot.first_part[cut + 1]; ++part) {
        if (waits.segment_of_part[part] != cut) continue;
        const std::int64_t ready = part_ready_ns(seen, waits, part);
        const std::int64_t begin = seen.part_begin[part];
        if (begin - ready > kShortestDeviceGapNs && is_idle(gaps, ready, begin))
          seen.cut_end[cut] = std::max(seen.cut_end[cut], begin);
        // A part that begins as soon as its stream is free says nothing about the track.
        const bool is_held_by_stream = std::abs(begin - ready) <= kShortestDeviceGapNs;
        if (!is_held_by_stream && begin > seen.cut_end[cut] && is_idle(gaps, seen.cut_end[cut], begin))
          seen.cut_reached[cut] = begin;
      }
      const std::int64_t before = cut > 0 ? seen.cut_reached[cut - 1] : seen.begin_ns;
      seen.cut_reached[cut] = std::max({seen.cut_reached[cut], seen.cut_end[cut], before});
    }
  }
}

SlotSegments time_segments(const JoinedRanks& joined, const SlotWaits& waits, const SlotTimes& times) {
  SlotSegments segments;
  segments.cuts = waits.of_segment.size();
  for (const Observation& seen : times.observations) {
    std::int64_t reached = seen.begin_ns;
    for (std::size_t cut = 0; cut < segments.cuts; ++cut) {
      std::int64_t ready = reached;
      for (const std::uint32_t part : waits.of_segment[cut]) ready = std::max(ready, seen.part_end[part]);
      const std::int64_t duration = std::max<std::int64_t>(0, seen.cut_end[cut] - ready);
      const std::int64_t host =
          joined.is_on_device() ? idle_within(joined.ranks()[seen.rank].gaps, ready, ready + duration) : 0;
      segments.times.push_back({ready, host, duration - host});
      reached = ready + duration;
    }
  }
  return segments;
}

}  // namespace goodput
