#include "models/collectives/wait_structure.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace goodput {
namespace {

constexpr double kMostOfAll = 0.85;   // share of the observations that must show an order
constexpr double kMostOfDepth = 0.7;  // share, by how far parts reach into a segment, that must show idling
constexpr std::size_t kPartsLookedBack = 16;
constexpr double kLateEndNs = 500e3;  // how late ends may be if no exact order fits

// How exact the times of a kind of trace are, in nanoseconds.
struct Tolerance {
  double order = 0;    // how late an end may appear
  double shallow = 0;  // a part that reaches less far into a segment is no evidence
  double gap = 0;      // between the end of a part and the edges of the idle time before it
};
// gloo stamps ends 0.1 to 7 ms late on a busy host.
constexpr Tolerance kOfGloo{kLateEndNs, 200e3, 600e3};
constexpr Tolerance kOfDevice{20e3, 20e3, 30e3};
// Idle time may end before the part does, or after it, by these shares of its length.
constexpr double kEarlyShare = 0.15;
constexpr double kLateShare = 0.4;

class WaitFinder {
 public:
  WaitFinder(const JoinedRanks& joined, const RankSlot& slot, const SlotTimes& times, SlotWaits& waits)
      : joined_(joined),
        slot_(slot),
        times_(times),
        waits_(waits),
        tolerance_(joined.is_on_device() ? kOfDevice : kOfGloo),
        enough_(static_cast<std::size_t>(
            std::ceil(kMostOfAll * static_cast<double>(times.observations.size()) - 1e-6))) {
    waits_.of_segment.resize(slot.cuts.size());
    waits_.segment_of_part.resize(slot.parts.size());
    waits_.parts_of_part.resize(slot.parts.size());
  }

  void find_of_parts() {
    for (std::uint32_t part = 0; part < slot_.parts.size(); ++part) find_what_part_waits_for(part);
  }

  void find_of_segments() {
    std::vector<char> is_known(slot_.parts.size(), 0);
    if (joined_.is_on_device()) {
      take_stream_order(is_known);
      take_recorded_waits(is_known);
    }
    if (times_.observations.size() >= kLeastObservations) {
      for (std::uint32_t part = 0; part < slot_.parts.size(); ++part) {
        if (is_known[part] == 0 && is_first_of_kernel(part)) infer_wait(part);
      }
    }
  }

 private:
  [[nodiscard]] const CommunicationPart& first_seen(std::uint32_t part) const {
    return joined_.part(slot_.ranks.front(), 0, part);
  }
  [[nodiscard]] bool is_first_of_kernel(std::uint32_t part) const { return slot_.parts[part].at == 0; }

  // How many observations `holds` for.
  template <typename Holds>
  [[nodiscard]] bool holds_mostly(Holds holds) const {
    return static_cast<std::size_t>(std::ranges::count_if(times_.observations, holds)) >= enough_;
  }

  void find_what_part_waits_for(std::uint32_t part) {
    const std::uint32_t launch = slot_.parts[part].cut;
    if (!joined_.is_on_device()) {
      waits_.segment_of_part[part] = launch;
      return;
    }
    if (!is_first_of_kernel(part)) {  // it is in the kernel of the part before it
      waits_.segment_of_part[part] = waits_.segment_of_part[part - 1];
      waits_.parts_of_part[part] = waits_.parts_of_part[part - 1];
      return;
    }
    for (std::uint32_t cut = launch + 1; cut-- > 0;) {
      if (holds_mostly([&](const Observation& seen) {
            return static_cast<double>(seen.cut_end[cut] - seen.part_begin[part]) <= tolerance_.order;
          })) {
        waits_.segment_of_part[part] = cut;
        break;
      }
    }
    add_previous_of_stream(part);
    add_part_of_other_stream(part);
  }

  // Adds all parts of the kernel whose last part is `last`.
  void add_kernel(std::vector<std::uint32_t>& parts, std::uint32_t last) const {
    for (std::uint32_t at = last + 1; at-- > 0;) {
      parts.push_back(at);
      if (is_first_of_kernel(at)) break;
    }
  }

  void add_previous_of_stream(std::uint32_t part) {
    for (std::uint32_t before = part; before-- > 0;) {
      if (first_seen(before).stream != first_seen(part).stream) continue;
      add_kernel(waits_.parts_of_part[part], before);
      return;
    }
  }

  // A collective may wait for one on another stream (HSDP's all-reduce for its reduce-scatter). Then it
  // begins when that one ends, later than anything else explains.
  void add_part_of_other_stream(std::uint32_t part) {
    constexpr double kUnexplainedNs = 50e3;
    const auto is_late = [&](const Observation& seen) {
      return static_cast<double>(seen.part_begin[part] - part_ready_ns(seen, waits_, part)) > kUnexplainedNs;
    };
    const auto late = static_cast<std::size_t>(std::ranges::count_if(times_.observations, is_late));
    if (late < kLeastObservations || 4 * late < times_.observations.size()) return;
    for (std::uint32_t before = part, looked = 0; before-- > 0 && looked < kPartsLookedBack; ++looked) {
      if (first_seen(before).stream == first_seen(part).stream) continue;
      std::size_t follows = 0;
      for (const Observation& seen : times_.observations) {
        const auto behind = static_cast<double>(seen.part_begin[part] - seen.part_end[before]);
        if (is_late(seen) && behind >= -tolerance_.order && behind <= kUnexplainedNs) ++follows;
      }
      const bool is_ordered = holds_mostly([&](const Observation& seen) {
        return static_cast<double>(seen.part_end[before] - seen.part_begin[part]) <= tolerance_.order;
      });
      if (!is_ordered || static_cast<double>(follows) < kMostOfDepth * static_cast<double>(late)) continue;
      add_kernel(waits_.parts_of_part[part], before);
      return;
    }
  }

  // By cut: the streams that its segment has work on in most observations.
  [[nodiscard]] std::vector<std::uint64_t> streams_of_segments() const {
    std::vector<std::array<std::size_t, 64>> uses(slot_.cuts.size());
    for (const Observation& seen : times_.observations) {
      const auto cuts = joined_.cuts(seen.rank, seen.step);
      for (std::size_t cut = 0; cut < uses.size(); ++cut) {
        for (std::uint64_t left = cuts[cut].streams; left != 0; left &= left - 1)
          ++uses[cut][static_cast<std::size_t>(std::countr_zero(left))];
      }
    }
    std::vector<std::uint64_t> streams(uses.size());
    for (std::size_t cut = 0; cut < uses.size(); ++cut) {
      for (std::size_t stream = 0; stream < uses[cut].size(); ++stream) {
        if (uses[cut][stream] >= enough_) streams[cut] |= std::uint64_t{1} << stream;
      }
    }
    return streams;
  }

  // Work that was launched later on the stream of a collective waits for it.
  void take_stream_order(std::vector<char>& is_known) {
    const std::vector<std::uint64_t> streams = streams_of_segments();
    for (std::uint32_t part = 0; part < slot_.parts.size(); ++part) {
      if (first_seen(part).stream >= 63) continue;
      const std::uint64_t own = std::uint64_t{1} << first_seen(part).stream;
      for (std::size_t cut = slot_.parts[part].cut + 1; cut < slot_.cuts.size(); ++cut) {
        if ((streams[cut] & own) == 0) continue;
        waits_.of_segment[cut].push_back(part);
        is_known[part] = 1;
        break;
      }
    }
  }

  void take_recorded_waits(std::vector<char>& is_known) {
    const auto cuts = joined_.cuts(slot_.ranks.front(), 0);
    const auto& activity = joined_.ranks()[slot_.ranks.front()];
    for (std::size_t cut = 0; cut + 1 < slot_.cuts.size(); ++cut) {
      if (slot_.cuts[cut] != TrackCut::Kind::kWait || cuts[cut].part < 0) continue;
      const CommunicationPart& waited = activity.parts[static_cast<std::size_t>(cuts[cut].part)];
      for (std::uint32_t part = 0; part < slot_.parts.size(); ++part) {
        if (&first_seen(part) != &waited || is_known[part] != 0 || !holds_back(part, cut + 1)) continue;
        for (std::uint32_t one = part; one < slot_.parts.size() && (one == part || !is_first_of_kernel(one));
             ++one) {
          waits_.of_segment[cut + 1].push_back(one);
          is_known[one] = 1;
        }
      }
    }
  }

  // Whether the next work, in the segment or after it, begins only when the part has ended. A wait recorded
  // while another stream is current (FSDP2) holds back that stream, not the work.
  [[nodiscard]] bool holds_back(std::uint32_t part, std::size_t segment) const {
    return holds_mostly([&](const Observation& seen) {
      const auto cuts = joined_.cuts(seen.rank, seen.step);
      for (std::size_t cut = segment; cut < cuts.size(); ++cut) {
        if (cuts[cut].begin_ns != 0)
          return static_cast<double>(seen.part_end[part] - cuts[cut].begin_ns) <= tolerance_.order;
      }
      return true;
    });
  }

  // Finds the first segment that ends after the part in most observations and in which the track is idle
  // until the part ends and continues right after. A part that ended before the segment began is no evidence
  // against this.
  void infer_wait(std::uint32_t part) {
    for (const double tolerance : {tolerance_.order, kLateEndNs}) {
      if (infer_wait(part, tolerance)) return;
    }
  }

  // The first cut after the part's launch that is reached after the part has ended, in most observations.
  // Cuts are reached in order.
  [[nodiscard]] std::size_t first_cut_behind(std::uint32_t part, double tolerance) const {
    std::size_t low = slot_.parts[part].cut + 1;
    std::size_t high = slot_.cuts.size();
    while (low < high) {
      const std::size_t cut = low + (high - low) / 2;
      const bool has_ended = holds_mostly([&](const Observation& seen) {
        return static_cast<double>(seen.part_end[part] - seen.cut_reached[cut]) <= tolerance;
      });
      (has_ended ? high : low) = has_ended ? cut : cut + 1;
    }
    return low;
  }

  bool infer_wait(std::uint32_t part, double tolerance) {
    std::uint32_t end = part + 1;
    while (end < slot_.parts.size() && !is_first_of_kernel(end)) ++end;
    for (std::size_t cut = first_cut_behind(part, tolerance); cut < slot_.cuts.size(); ++cut) {
      if (!is_waited_for(part, cut)) continue;
      for (std::uint32_t one = part; one < end; ++one) waits_.of_segment[cut].push_back(one);
      ++waits_.inferred;
      return true;
    }
    return false;
  }

  [[nodiscard]] bool is_waited_for(std::uint32_t part, std::size_t cut) const {
    double all = 0;
    double idle = 0;
    for (const Observation& seen : times_.observations) {
      const auto depth = static_cast<double>(seen.part_end[part] - seen.segment_begin(cut));
      if (depth <= tolerance_.shallow) continue;
      all += depth;
      if (is_idle_until(seen, cut, static_cast<double>(seen.part_end[part]))) idle += depth;
    }
    return all == 0 || idle >= kMostOfDepth * all;
  }

  // Whether the track is idle until `end` and continues right after, with work or with the launch of
  // communication that ends the segment.
  [[nodiscard]] bool is_idle_until(const Observation& seen, std::size_t cut, double end) const {
    const std::vector<IdleGap>& gaps = joined_.ranks()[seen.rank].gaps;
    constexpr double kLookBackNs = 20e6;
    auto gap =
        std::ranges::lower_bound(gaps, static_cast<std::int64_t>(end - kLookBackNs), {}, &IdleGap::end_ns);
    for (; gap != gaps.end() && static_cast<double>(gap->begin_ns) < end + tolerance_.gap; ++gap) {
      const bool ends_with_launch = joined_.is_on_device() && seen.cut_reached[cut] > gap->begin_ns;
      const std::int64_t goes_on =
          ends_with_launch ? std::min(gap->end_ns, seen.cut_reached[cut]) : gap->end_ns;
      const auto length = static_cast<double>(goes_on - gap->begin_ns);
      const double behind = static_cast<double>(goes_on) - end;
      if (behind > -std::max(tolerance_.gap, kEarlyShare * length) &&
          behind < std::max(tolerance_.gap, kLateShare * length))
        return true;
    }
    return false;
  }

  const JoinedRanks& joined_;
  const RankSlot& slot_;
  const SlotTimes& times_;
  SlotWaits& waits_;
  const Tolerance& tolerance_;
  std::size_t enough_;
};

}  // namespace

std::int64_t part_ready_ns(const Observation& seen, const SlotWaits& waits, std::uint32_t part) {
  std::int64_t ready = seen.begin_ns;
  if (const auto cut = waits.segment_of_part[part]) ready = std::max(ready, seen.cut_end[*cut]);
  for (const std::uint32_t before : waits.parts_of_part[part]) ready = std::max(ready, seen.part_end[before]);
  return ready;
}

SlotWaits find_waits_of_parts(const JoinedRanks& joined, const RankSlot& slot, const SlotTimes& times) {
  SlotWaits waits;
  WaitFinder(joined, slot, times, waits).find_of_parts();
  return waits;
}

void find_waits_of_segments(const JoinedRanks& joined, const RankSlot& slot, const SlotTimes& times,
                            SlotWaits& waits) {
  WaitFinder(joined, slot, times, waits).find_of_segments();
}

}  // namespace goodput
