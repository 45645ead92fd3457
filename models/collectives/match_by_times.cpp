// gloo traces do not name process groups. All ranks of a slot do the same, so the next collective of a slot
// runs over one kind of group that its ranks belong to. Of the kinds that the times do not contradict we take
// the largest, because every smaller one fits as well.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "models/collectives/matched_parts.h"
#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kFitsNs = 500e3;       // gloo stamps ends up to some milliseconds late, but not begins
constexpr double kMayFitNs = 10'000e3;  // limit for the best kind of group if none fits

// Groups of one kind: every rank of the slots belongs to exactly one of them.
struct GroupFamily {
  std::vector<std::uint32_t> slots;
  std::vector<std::vector<std::uint32_t>> groups;  // ranks, ascending
};

std::vector<GroupFamily> find_families(const JoinedRanks& joined) {
  using Slots = std::set<std::uint32_t>;
  std::map<std::tuple<std::string, Slots, std::size_t>, std::set<std::vector<std::uint32_t>>> kinds;
  const auto add = [&](const std::string& description, std::vector<std::uint32_t> ranks) {
    std::ranges::sort(ranks);
    if (ranks.size() < 2 || ranks.back() >= joined.ranks().size()) return;
    Slots slots;
    for (const std::uint32_t rank : ranks) slots.insert(joined.slot_of(rank));
    const std::size_t size = ranks.size();
    kinds[{description, std::move(slots), size}].insert(std::move(ranks));
  };
  std::vector<std::uint32_t> all;
  for (const RankActivity& rank : joined.ranks()) {
    for (const ProcessGroup& group : rank.groups)
      add(group.description, {group.ranks.begin(), group.ranks.end()});
    all.push_back(static_cast<std::uint32_t>(rank.rank));
  }
  add("", all);
  std::set<std::vector<std::vector<std::uint32_t>>> seen;
  std::vector<GroupFamily> families;
  for (const auto& [kind, groups] : kinds) {
    const auto& [description, slots, size] = kind;
    std::set<std::uint32_t> covered;
    for (const std::vector<std::uint32_t>& group : groups) covered.insert(group.begin(), group.end());
    const bool is_partition =
        covered.size() == groups.size() * size && covered.size() == slots.size() * joined.lanes();
    if (!is_partition) continue;
    GroupFamily family{{slots.begin(), slots.end()}, {groups.begin(), groups.end()}};
    if (seen.insert(family.groups).second) families.push_back(std::move(family));
  }
  std::ranges::stable_sort(families, [](const GroupFamily& a, const GroupFamily& b) {
    return a.groups.front().size() > b.groups.front().size();
  });
  return families;
}

// How well a family fits the next collectives of its slots, in nanoseconds.
struct Fit {
  double contradiction =
      0;              // the latest begin - the earliest end: the median over the steps, of the worst group
  double spread = 0;  // of ends, likewise
};

class TimeMatcher {
 public:
  TimeMatcher(const JoinedRanks& joined, MatchedParts& matched)
      : joined_(joined), matched_(matched), families_(find_families(joined)), next_(joined.slots().size()) {
    for (const RankSlot& slot : joined.slots()) {
      pending_.emplace_back();
      for (std::uint32_t i = 0; i < slot.parts.size(); ++i) {
        const CommunicationPart& part = joined.part(slot.ranks.front(), 0, i);
        if (part.kind == CommunicationPart::Kind::kCollective && part.group < 0) pending_.back().push_back(i);
      }
    }
  }

  Status match() {
    if (joined_.ranks().size() == 1) return Ok{};
    for (std::optional<std::uint32_t> slot = open_slot(); slot; slot = open_slot()) {
      GOODPUT_TRY(const GroupFamily* family, best_family(*slot));
      for (const std::vector<std::uint32_t>& ranks : family->groups) {
        std::vector<PartOfRank> members;
        for (const std::uint32_t rank : ranks) members.push_back({rank, next_part(rank)});
        matched_.push_back(std::move(members));
      }
      for (const std::uint32_t done : family->slots) ++next_[done];
    }
    return Ok{};
  }

 private:
  [[nodiscard]] bool is_open(std::uint32_t slot) const { return next_[slot] < pending_[slot].size(); }
  [[nodiscard]] std::optional<std::uint32_t> open_slot() const {
    for (std::uint32_t slot = 0; slot < pending_.size(); ++slot) {
      if (is_open(slot)) return slot;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::uint32_t next_part(std::uint32_t rank) const {
    const std::uint32_t slot = joined_.slot_of(rank);
    return pending_[slot][next_[slot]];
  }

  // Empty if the next collectives of its slots are different operations.
  [[nodiscard]] std::optional<Fit> fit_of(const GroupFamily& family) const {
    Fit fit{-kMayFitNs, 0};
    for (const std::uint32_t slot : family.slots) {
      if (!is_open(slot)) return std::nullopt;
    }
    for (const std::vector<std::uint32_t>& ranks : family.groups) {
      std::vector<double> contradictions;
      std::vector<double> spreads;
      for (std::size_t step = 0; step < joined_.steps().size(); ++step) {
        const CommunicationPart& first = joined_.part(ranks.front(), step, next_part(ranks.front()));
        std::int64_t latest = first.begin_ns;
        auto [least, most] = std::pair(first.end_ns, first.end_ns);
        for (const std::uint32_t rank : ranks) {
          const CommunicationPart& part = joined_.part(rank, step, next_part(rank));
          if (joined_.ranks()[rank].names[part.name] != joined_.ranks()[ranks.front()].names[first.name])
            return std::nullopt;
          latest = std::max(latest, part.begin_ns);
          least = std::min(least, part.end_ns);
          most = std::max(most, part.end_ns);
        }
        contradictions.push_back(static_cast<double>(latest - least));
        spreads.push_back(static_cast<double>(most - least));
      }
      fit.contradiction = std::max(fit.contradiction, take_median(contradictions));
      fit.spread = std::max(fit.spread, take_median(spreads));
    }
    return fit;
  }

  // The largest family that fits; of several of that size, the one whose parts end closest together.
  [[nodiscard]] Result<const GroupFamily*> best_family(std::uint32_t open) const {
    struct Candidate {
      const GroupFamily* family;
      Fit fit;
    };
    std::vector<Candidate> candidates;
    for (const GroupFamily& family : families_) {
      if (const std::optional<Fit> fit = fit_of(family)) candidates.push_back({&family, *fit});
    }
    if (candidates.size() == 1 && families_.size() == 1) return candidates.front().family;
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates) {
      if (candidate.fit.contradiction > kFitsNs) continue;
      const std::size_t size = candidate.family->groups.front().size();
      const bool is_better = best == nullptr || (size == best->family->groups.front().size() &&
                                                 candidate.fit.spread < best->fit.spread);
      if (is_better) best = &candidate;
    }
    if (best == nullptr) {
      const auto nearest = std::ranges::min_element(
          candidates, {}, [](const Candidate& candidate) { return candidate.fit.contradiction; });
      if (nearest != candidates.end() && nearest->fit.contradiction < kMayFitNs) best = &*nearest;
    }
    if (best != nullptr) return best->family;
    const std::uint32_t rank = joined_.slots()[open].ranks.front();
    return Error{
        fmt::format("step {}: cannot determine which ranks take part in {} on rank {}: the ranks do not run "
                    "the same program, or their clocks are more than 10 ms apart",
                    joined_.steps()[0],
                    describe_part(joined_.ranks()[rank], joined_.part(rank, 0, next_part(rank))), rank)};
  }

  const JoinedRanks& joined_;
  MatchedParts& matched_;
  std::vector<GroupFamily> families_;                // largest groups first
  std::vector<std::vector<std::uint32_t>> pending_;  // by slot: parts to match, in the order of launches
  std::vector<std::size_t> next_;                    // by slot: into pending_
};

}  // namespace

Status match_by_times(const JoinedRanks& joined, MatchedParts& matched) {
  return TimeMatcher(joined, matched).match();
}

}  // namespace goodput
