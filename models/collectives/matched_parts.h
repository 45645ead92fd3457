// Which parts of which ranks belong to the same collective or message.
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

// The k-th collective of a process group in a step is the same collective on all its ranks; the k-th send
// from a to b belongs to the k-th receive on b from a. If the trace does not name groups (gloo), takes the
// largest groups that the times do not contradict. Fails if the ranks do not run the same program, and names
// two.
Result<MatchedParts> match_parts(const JoinedRanks& joined);

// Only the messages.
Result<MatchedParts> match_messages(const JoinedRanks& joined);

// Collectives whose process group the trace does not name. Appends to `matched`.
Status match_by_times(const JoinedRanks& joined, MatchedParts& matched);

// A communication op of the step graph: which parts of which slots it joins, and which lanes take part
// together.
struct SlotGroup {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members;  // (slot, part), ascending
  std::vector<std::uint32_t> block_of;                           // by lane; lanes with the same number meet
};

// Fails if a collective joins other slots on one lane than on another.
Result<std::vector<SlotGroup>> group_by_slot(const JoinedRanks& joined, const MatchedParts& matched);

}  // namespace goodput
