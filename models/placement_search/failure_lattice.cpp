#include "models/placement_search/failure_lattice.h"

#include <algorithm>
#include <bit>

#include "sim/base/errors.h"
#include "sim/base/target_clones.h"

namespace goodput {
namespace {

constexpr std::uint32_t kInWord = 6;  // nodes whose 64 sets are the bits of one word
constexpr std::uint32_t kLow = 63;

// counts[k] += survived sets of k failed nodes. `counts` has room for kInWord more than the nodes.
GOODPUT_TARGET_CLONES("popcnt", "default")
void count_survived(const std::uint64_t* fatal, std::size_t words, const std::uint64_t* with_failures,
                    std::int64_t* counts) {
  for (std::size_t w = 0; w < words; ++w) {
    std::int64_t* from_here = counts + __builtin_popcountll(w);
    for (std::size_t j = 0; j <= kInWord; ++j) {
      from_here[j] += __builtin_popcountll(~fatal[w] & with_failures[j]);
    }
  }
}

}  // namespace

FailureLattice::FailureLattice(std::int32_t nodes) : nodes_(nodes) {
  GOODPUT_CHECK(1 <= nodes && nodes <= kMaxNodes, "a failure lattice supports only small clusters");
  const std::uint32_t bits = std::uint32_t{1} << std::min(static_cast<std::uint32_t>(nodes), kInWord);
  for (std::uint32_t set = 0; set < bits; ++set) {
    with_failures_[static_cast<std::size_t>(std::popcount(set))] |= std::uint64_t{1} << set;
    for (std::uint32_t subset = 0; subset < 64; ++subset) {
      if ((set & subset) == subset) supersets_[subset] |= std::uint64_t{1} << set;
    }
  }
  sets_ = survived(none());
}

FailureLattice::Fatal FailureLattice::none() const {
  Fatal fatal;
  const auto nodes = static_cast<std::uint32_t>(nodes_);
  fatal.words_.resize(nodes > kInWord ? std::size_t{1} << (nodes - kInWord) : 1);
  return fatal;
}

void FailureLattice::add(Fatal& fatal, std::uint32_t node_set) const {
  const std::uint64_t low = supersets_[node_set & kLow];
  const std::size_t high = node_set >> kInWord;
  for (std::size_t w = high; w < fatal.words_.size(); w = (w + 1) | high) fatal.words_[w] |= low;
}

FailureLattice::Counts FailureLattice::survived(const Fatal& fatal) const {
  std::array<std::int64_t, kMaxNodes + 1 + kInWord> counts{};
  count_survived(fatal.words_.data(), fatal.words_.size(), with_failures_.data(), counts.data());
  Counts survived;
  std::copy_n(counts.begin(), survived.size(), survived.begin());
  return survived;
}

}  // namespace goodput
