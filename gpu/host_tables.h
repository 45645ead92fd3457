// Which rank hosts how many replicas of which expert, in the orders the kernels read it.
#pragma once

#include <cstdint>
#include <vector>

namespace goodput::gpu {

// A rank's replicas of one expert, listed by expert, then rank.
struct alignas(16) ExpertHost {
  std::int32_t rank;
  std::int32_t replicas;  // > 0
  std::int32_t before;    // replicas of the expert on lower ranks
  std::int32_t entry;     // its place in HostTables::entries
};

// The same, listed by rank, then expert: the order of a send buffer.
struct alignas(8) PlacementEntry {
  std::int32_t expert;
  std::int32_t host;  // its place in HostTables::hosts
};

struct HostTables {
  std::int32_t ranks;
  std::int32_t experts;
  std::vector<ExpertHost> hosts;
  std::vector<std::int32_t> expert_begin;  // experts + 1: where an expert's hosts begin
  std::vector<PlacementEntry> entries;
  std::vector<std::int32_t> rank_begin;  // ranks + 1: where a rank's entries begin

  [[nodiscard]] std::int32_t hosted_by(std::int32_t rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return rank_begin[at + 1] - rank_begin[at];
  }
  // Of any expert.
  [[nodiscard]] std::int32_t most_hosts() const;
};

// `replicas` is ranks x experts, by rank. Ranks that host nothing, and experts that nobody hosts, are
// allowed. Throws std::invalid_argument: a wrong size, a negative number, or an expert with more than
// moe::kMostReplicas replicas.
HostTables make_placement(std::int32_t ranks, std::int32_t experts,
                          const std::vector<std::int32_t>& replicas);

}  // namespace goodput::gpu
