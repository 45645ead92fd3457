// All failure sets at once, against counting them one by one.
#include "models/placement_search/failure_lattice.h"

#include <doctest/doctest.h>

#include <vector>

#include "models/placement/survival.h"
#include "sim/base/errors.h"
#include "sim/base/random.h"
#include "tests/reference/placement_enumeration.h"

namespace goodput {
namespace {

reference::SurvivedSets first_counts(const FailureLattice& lattice, const FailureLattice::Fatal& fatal) {
  const FailureLattice::Counts counts = lattice.survived(fatal);
  for (std::size_t k = static_cast<std::size_t>(lattice.nodes()) + 1; k < counts.size(); ++k)
    CHECK(counts[k] == 0);
  return {counts.begin(), counts.begin() + lattice.nodes() + 1};
}

}  // namespace

TEST_CASE("failure lattice: when nothing is fatal, n choose k sets of k nodes are survived") {
  for (std::int32_t nodes = 1; nodes <= FailureLattice::kMaxNodes; ++nodes) {
    const FailureLattice lattice(nodes);
    CHECK(lattice.survived(lattice.none()) == lattice.sets());
    for (std::int32_t k = 0; k <= FailureLattice::kMaxNodes; ++k) {
      CHECK(static_cast<double>(lattice.sets()[static_cast<std::size_t>(k)]) == choose(nodes, k));
    }
  }
}

TEST_CASE("failure lattice: survived sets are those counted one by one") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "lattice");
    const auto nodes = static_cast<std::int32_t>(1 + random.below(FailureLattice::kMaxNodes));
    const FailureLattice lattice(nodes);
    FailureLattice::Fatal fatal = lattice.none();
    std::vector<std::uint32_t> sets;
    for (std::uint64_t left = random.below(6); left > 0; --left) {
      sets.push_back(static_cast<std::uint32_t>(1 + random.below((std::uint64_t{1} << nodes) - 1)));
      lattice.add(fatal, sets.back());
    }
    CHECK(first_counts(lattice, fatal) == reference::survived_sets(sets, nodes));
  }
}

TEST_CASE("failure lattice: an expert without nodes makes everything fatal") {
  const FailureLattice lattice(7);
  FailureLattice::Fatal fatal = lattice.none();
  lattice.add(fatal, 0U);
  CHECK(lattice.survived(fatal) == FailureLattice::Counts{});
}

TEST_CASE("failure lattice: it is for 1 to 14 nodes") {
  CHECK_THROWS_AS(FailureLattice(0), InternalError);
  CHECK_THROWS_AS(FailureLattice(15), InternalError);
}

}  // namespace goodput
