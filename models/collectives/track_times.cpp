#include "models/collectives/track_times.h"

#include <algorithm>

namespace goodput {
namespace {

using Kind = CommunicationPart::Kind;

void correct_gloo_messages(const JoinedRanks& joined, const MatchedParts& matched,
                           std::vector<SlotTimes>& slots) {
  const std::size_t steps = joined.steps().size();
  const auto observation = [&](const PartOfRank& one, std::size_t step) -> Observation& {
    return slots[joined.slot_of(one.rank)].observations[joined.lane_of(one.rank) * steps + step];
  };
  struct Stamp {
    PartOfRank part;
    std::size_t step = 0;
    std::int64_t latest = 0;
  };
  std::vector<Stamp> stamps;
  std::vector<std::int64_t> transfers;
  for (const std::vector<PartOfRank>& group : matched) {
    if (joined.part(group.front().rank, 0, group.front().part).kind == Kind::kCollective) continue;
    for (std::size_t step = 0; step < steps; ++step) {
      std::int64_t latest = observation(group.front(), step).part_begin[group.front().part];
      for (const PartOfRank& one : group)
        latest = std::max(latest, observation(one, step).part_begin[one.part]);
      for (const PartOfRank& one : group) {
        stamps.push_back({one, step, latest});
        if (joined.part(one.rank, step, one.part).kind == Kind::kReceive)
          transfers.push_back(observation(one, step).part_end[one.part] - latest);
      }
    }
  }
  if (transfers.empty()) return;
  const auto tenth = transfers.begin() + static_cast<std::ptrdiff_t>(transfers.size() / 10);
  std::nth_element(transfers.begin(), tenth, transfers.end());
  const std::int64_t transfer = std::max<std::int64_t>(0, *tenth);
  for (const Stamp& stamp : stamps) {
    std::int64_t& end = observation(stamp.part, stamp.step).part_end[stamp.part.part];
    end = std::min(end, stamp.latest + transfer);
  }
}

}  // namespace

std::vector<SlotTimes> track_times(const JoinedRanks& joined, const MatchedParts& matched) {
  std::vector<SlotTimes> slots;
  for (const RankSlot& slot : joined.slots()) {
    slots.emplace_back();
    for (const std::uint32_t rank : slot.ranks) {
      for (std::size_t step = 0; step < joined.steps().size(); ++step) {
        Observation seen{rank, step, joined.step(rank, step).begin_ns, {}, {}, {}, {}};
        for (const TrackCut& cut : joined.cuts(rank, step)) seen.cut_end.push_back(cut.end_ns);
        seen.cut_reached = seen.cut_end;
        for (std::size_t part = 0; part < slot.parts.size(); ++part) {
          seen.part_begin.push_back(joined.part(rank, step, part).begin_ns);
          seen.part_end.push_back(joined.part(rank, step, part).end_ns);
        }
        slots.back().observations.push_back(std::move(seen));
      }
    }
  }
  if (!joined.is_on_device()) correct_gloo_messages(joined, matched, slots);
  return slots;
}

}  // namespace goodput
