// All sets of failed nodes of a small cluster at once, a bit each: which of them a placement does not
// survive, found in a fraction of a microsecond. What the search for placements rests on
// (models/placement_search/best_plan.h).
//
// A set of nodes is a mask here: bit n is node n.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace goodput {

class FailureLattice {
 public:
  static constexpr std::int32_t kMaxNodes = 14;

  // How many of the sets of k failed nodes are survived, by k.
  using Counts = std::array<std::int64_t, kMaxNodes + 1>;

  // The sets of failed nodes that are fatal: bit s of the words is the set with mask s.
  class Fatal {
   private:
    friend class FailureLattice;
    std::vector<std::uint64_t> words_{};
  };

  // REQUIRES: 1 <= nodes <= kMaxNodes.
  explicit FailureLattice(std::int32_t nodes);

  [[nodiscard]] std::int32_t nodes() const { return nodes_; }
  [[nodiscard]] Fatal none() const;

  // An expert stands on these nodes only: whatever contains them all is fatal.
  void add(Fatal& fatal, std::uint32_t node_set) const;

  [[nodiscard]] Counts survived(const Fatal& fatal) const;

  // C(nodes, k).
  [[nodiscard]] const Counts& sets() const { return sets_; }

 private:
  std::int32_t nodes_;
  std::array<std::uint64_t, 64>
      supersets_{};  // of the lowest six nodes' sets: which bits of a word contain them
  std::array<std::uint64_t, 7> with_failures_{};  // bits of a word with j of the lowest six nodes
  Counts sets_{};
};

}  // namespace goodput
