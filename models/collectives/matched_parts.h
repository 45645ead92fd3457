// Which parts of which ranks are one collective or message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/collectives/joined_ranks.h"
#include "sim/base/errors.h"

namespace goodput {

struct PartOfRank {
  std::uint32_t rank = 0;
  std::uint32_t part = 0;  // of the rank's slot

  friend auto operator<=>(const PartOfRank&, const PartOfRank&) = default;
};
using MatchedParts = std::vector<std::vector<PartOfRank>>;

// By process groups: the k-th collective of a group in a step is one on all its ranks, the k-th send from a
// to b is the k-th receive on b from a. Where the trace does not name groups (gloo), the largest groups that
// the times do not contradict. Fails where the ranks do not run the same program, and names two.
Result<MatchedParts> match_parts(const JoinedRanks& joined);

// The messages among them.
Result<MatchedParts> match_messages(const JoinedRanks& joined);

// Collectives of which only the members' own groups are known. Appends to `matched`.
Status match_by_times(const JoinedRanks& joined, MatchedParts& matched);

// A communication op of the step graph: parts of slots, and which lanes meet.
struct SlotGroup {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members;  // (slot, part), ascending
  std::vector<std::uint32_t> block_of;                           // by lane; those with one number meet
};

// Fails when the members of a group stand in different places in different lanes.
Result<std::vector<SlotGroup>> group_by_slot(const JoinedRanks& joined, const MatchedParts& matched);

}  // namespace goodput
