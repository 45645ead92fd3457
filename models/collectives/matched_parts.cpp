#include "models/collectives/matched_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace goodput {
namespace {

using Kind = CommunicationPart::Kind;

// Identifies a process group: ranks may use one name for different groups.
using GroupKey = std::pair<std::string, std::vector<std::int32_t>>;

GroupKey key_of(const RankActivity& rank, const CommunicationPart& part) {
  if (part.group < 0) return {};
  const ProcessGroup& group = rank.groups[static_cast<std::size_t>(part.group)];
  GroupKey key{group.name, group.ranks};
  std::ranges::sort(key.second);
  return key;
}

class Matcher {
 public:
  explicit Matcher(const JoinedRanks& joined) : joined_(joined) {}

  Result<MatchedParts> match() {
    sort_parts();
    for (auto& [key, members] : collectives_) {
      GOODPUT_TRY_STATUS(check_members(key, members));
      if (members.size() > 1) matched_.push_back(std::move(members));
    }
    GOODPUT_TRY_STATUS(add_messages());
    if (has_unknown_groups_) GOODPUT_TRY_STATUS(match_by_times(joined_, matched_));
    return std::move(matched_);
  }

  Result<MatchedParts> match_messages() {
    sort_parts();
    GOODPUT_TRY_STATUS(add_messages());
    return std::move(matched_);
  }

 private:
  using CollectiveKey = std::pair<GroupKey, std::size_t>;
  // Group, from, to, and which message of these it is.
  using MessageKey = std::tuple<GroupKey, std::uint32_t, std::uint32_t, std::size_t>;

  void sort_parts() {
    for (std::uint32_t rank = 0; rank < joined_.ranks().size(); ++rank) {
      std::map<GroupKey, std::size_t> collectives;
      std::map<std::tuple<GroupKey, std::uint32_t, std::uint32_t>, std::size_t> messages;
      const RankSlot& slot = joined_.slots()[joined_.slot_of(rank)];
      for (std::uint32_t i = 0; i < slot.parts.size(); ++i) {
        const CommunicationPart& part = joined_.part(rank, 0, i);
        GroupKey group = key_of(joined_.ranks()[rank], part);
        if (part.kind == Kind::kCollective && part.group < 0) {
          has_unknown_groups_ = true;
        } else if (part.kind == Kind::kCollective) {
          const std::size_t place = collectives[group]++;
          collectives_[{std::move(group), place}].push_back({rank, i});
        } else {
          const auto peer = static_cast<std::uint32_t>(part.peer);
          const bool is_send = part.kind == Kind::kSend;
          const std::uint32_t from = is_send ? rank : peer;
          const std::uint32_t to = is_send ? peer : rank;
          const std::size_t place = messages[{group, from, to}]++;
          (is_send ? sends_ : receives_)[{std::move(group), from, to, place}] = {rank, i};
        }
      }
    }
  }

  [[nodiscard]] const CommunicationPart& part(const PartOfRank& one, std::size_t step) const {
    return joined_.part(one.rank, step, one.part);
  }

  [[nodiscard]] Error different(std::size_t step, const PartOfRank& a, const PartOfRank& b,
                                const std::string& more = "") const {
    const auto what = [&](const PartOfRank& one) {
      std::string text = describe_part(joined_.ranks()[one.rank], part(one, step));
      if (!more.empty()) text += fmt::format(" with {} {}", more, part(one, step).sequence);
      return text;
    };
    return Error{fmt::format(
        "step {}: rank {} launches {}, but rank {} launches {}: the ranks do not run the same program",
        joined_.steps()[step], a.rank, what(a), b.rank, what(b))};
  }

  Status check_members(const CollectiveKey& key, const std::vector<PartOfRank>& members) const {
    const auto& [group, place] = key;
    // Members ascend by rank.
    const auto has = [&](std::int32_t rank) {
      return std::ranges::binary_search(members, static_cast<std::uint32_t>(rank), {}, &PartOfRank::rank);
    };
    const PartOfRank& first = members.front();
    for (const std::int32_t rank : group.second) {
      if (!has(rank))
        return Error{fmt::format(
            "step {}: rank {} launches {}, but rank {} does not: the ranks do not run the same program",
            joined_.steps()[0], first.rank, describe_part(joined_.ranks()[first.rank], part(first, 0)),
            rank)};
    }
    const RankActivity& rank = joined_.ranks()[first.rank];
    for (const PartOfRank& one : members) {
      const RankActivity& other = joined_.ranks()[one.rank];
      const CommunicationPart& a = part(first, 0);
      const CommunicationPart& b = part(one, 0);
      const bool agree =
          rank.names[a.name] == other.names[b.name] && rank.names[a.dtype] == other.names[b.dtype] &&
          (a.elements == b.elements || !has_equal_sizes(rank, a) || rank.names[a.name] == "broadcast");
      if (!agree) return different(0, one, first);
      for (std::size_t step = 0; step < joined_.steps().size(); ++step) {
        const std::int64_t sequence = part(one, step).sequence;
        if (sequence >= 0 && part(first, step).sequence >= 0 && sequence != part(first, step).sequence)
          return different(step, one, first, "Seq");
      }
    }
    return Ok{};
  }

  Status add_messages() {
    for (const auto& [key, send] : sends_) {
      const auto receive = receives_.find(key);
      if (receive == receives_.end()) return lone_message(send, "receive");
      matched_.push_back({send, receive->second});
      receives_.erase(receive);
    }
    return receives_.empty() ? Status(Ok{}) : Status(lone_message(receives_.begin()->second, "send"));
  }

  [[nodiscard]] Error lone_message(const PartOfRank& one, const std::string& peer) const {
    const CommunicationPart& own = part(one, 0);
    return Error{fmt::format(
        "step {}: rank {} launches {}, but rank {} has no matching {}: the ranks do not run the same program",
        joined_.steps()[0], one.rank, describe_part(joined_.ranks()[one.rank], own), own.peer, peer)};
  }

  const JoinedRanks& joined_;
  std::map<CollectiveKey, std::vector<PartOfRank>> collectives_;
  std::map<MessageKey, PartOfRank> sends_;
  std::map<MessageKey, PartOfRank> receives_;
  bool has_unknown_groups_ = false;
  MatchedParts matched_;
};

}  // namespace

Result<MatchedParts> match_parts(const JoinedRanks& joined) {
  return Matcher(joined).match();
}

Result<MatchedParts> match_messages(const JoinedRanks& joined) {
  return Matcher(joined).match_messages();
}

Result<std::vector<SlotGroup>> group_by_slot(const JoinedRanks& joined, const MatchedParts& matched) {
  using Member = std::pair<std::uint32_t, std::uint32_t>;
  std::map<std::vector<Member>, std::vector<std::uint32_t>> blocks;
  std::map<Member, std::vector<Member>> members_of;
  const auto crosswise = [&](const PartOfRank& one) {
    return Error{
        fmt::format("step {}: {} on rank {} goes to a different stage than on the other replicas; such jobs "
                    "are not supported",
                    joined.steps()[0],
                    describe_part(joined.ranks()[one.rank], joined.part(one.rank, 0, one.part)), one.rank)};
  };
  for (std::uint32_t group = 0; group < matched.size(); ++group) {
    std::vector<Member> members;
    std::vector<std::uint32_t> lanes;
    for (const PartOfRank& one : matched[group]) {
      members.emplace_back(joined.slot_of(one.rank), one.part);
      lanes.push_back(joined.lane_of(one.rank));
    }
    std::ranges::sort(lanes);
    lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
    std::ranges::sort(members);
    members.erase(std::unique(members.begin(), members.end()), members.end());
    if (members.size() * lanes.size() != matched[group].size()) return crosswise(matched[group].front());
    for (const Member& member : members) {
      const auto [own, is_new] = members_of.try_emplace(member, members);
      if (!is_new && own->second != members) return crosswise(matched[group].front());
    }
    constexpr std::uint32_t kNone = ~0U;
    std::vector<std::uint32_t>& block_of =
        blocks.try_emplace(members, std::vector<std::uint32_t>(joined.lanes(), kNone)).first->second;
    for (const std::uint32_t lane : lanes) block_of[lane] = group;
  }
  std::vector<SlotGroup> groups;
  for (auto& [members, block_of] : blocks) groups.push_back({members, std::move(block_of)});
  return groups;
}

}  // namespace goodput
