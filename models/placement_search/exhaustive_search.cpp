// Branch and bound over placements: expert after expert, fewest replicas first, onto nodes that are told
// apart only by what they hold. Placing more experts never adds a failure that is survived, so a partial
// placement worth no more than the best complete one is given up.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <unordered_set>
#include <utility>

#include "models/placement_search/survival_search.h"
#include "sim/base/errors.h"
#include "sim/base/hash.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// How many replicas of the next expert each node takes.
struct Choice {
  std::vector<std::int32_t> taken{};
  FailureLattice::Fatal fatal{};
  double value = 0;
};

// The nodes after some experts were placed.
struct Partial {
  FailureLattice::Fatal fatal{};
  std::vector<std::uint32_t> innermost{};  // sets of nodes, ascending, none within another
  std::vector<std::int32_t> vacant{};
  std::vector<std::int32_t> kind{};  // nodes of one kind are in the same sets and have as many vacant slots
};

// With one more set of nodes that an expert stands on.
std::vector<std::uint32_t> with_set(std::vector<std::uint32_t> innermost, std::uint32_t nodes) {
  for (const std::uint32_t set : innermost) {
    if ((set & ~nodes) == 0) return innermost;
  }
  std::erase_if(innermost, [&](std::uint32_t set) { return (nodes & ~set) == 0; });
  innermost.insert(std::upper_bound(innermost.begin(), innermost.end(), nodes), nodes);
  return innermost;
}

std::uint32_t mask_of(const std::vector<std::int32_t>& taken) {
  std::uint32_t nodes = 0;
  for (std::size_t n = 0; n < taken.size(); ++n) nodes |= (taken[n] > 0 ? 1U : 0U) << n;
  return nodes;
}

// All ways to put `replicas` replicas of one expert on the nodes, or one more than `most` of them. Nodes of
// one kind take in descending order: other orders are the same placement with nodes renamed.
class Choices {
 public:
  Choices(const Partial& partial, std::int32_t replicas, std::int64_t most)
      : partial_(partial), most_(static_cast<std::size_t>(most)), taken_(partial.vacant.size()) {
    room_after_.resize(taken_.size() + 1);
    for (std::size_t n = taken_.size(); n-- > 0;) room_after_[n] = room_after_[n + 1] + partial.vacant[n];
    extend(0, replicas);
  }
  [[nodiscard]] std::vector<Choice> take() { return std::move(found_); }

 private:
  void extend(std::size_t node, std::int32_t left) {
    if (left == 0) {
      found_.push_back({taken_, {}, 0});
      return;
    }
    if (room_after_[node] < left) return;
    if (found_.size() > most_) return;
    for (std::int32_t take = std::min({partial_.vacant[node], left, most_by_kind(node)}); take >= 0; --take) {
      taken_[node] = take;
      extend(node + 1, left - take);
    }
    taken_[node] = 0;
  }
  [[nodiscard]] std::int32_t most_by_kind(std::size_t node) const {
    for (std::size_t before = node; before-- > 0;) {
      if (partial_.kind[before] == partial_.kind[node]) return taken_[before];
    }
    return std::numeric_limits<std::int32_t>::max();
  }

  const Partial& partial_;
  const std::size_t most_;
  std::vector<std::int32_t> taken_;
  std::vector<std::int32_t> room_after_{};  // vacant slots from a node on
  std::vector<Choice> found_{};
};

class BranchAndBound {
 public:
  BranchAndBound(const LayerDemand& layer, const SlotGrid& grid, const FailureLattice& lattice, double value,
                 std::int64_t max_tried)
      : layer_(layer),
        grid_(grid),
        lattice_(lattice),
        goal_(lattice, lattice.none(), {}),
        tries_left_(max_tried),
        order_(experts_by_replicas(layer.replicas, layer.loads)),
        taken_(order_.size()),
        best_value_(value) {
    place_from(0, {lattice.none(),
                   {},
                   std::vector<std::int32_t>(index(grid.nodes), grid.slots),
                   std::vector<std::int32_t>(index(grid.nodes))});
  }

  [[nodiscard]] ExhaustiveSearch result() const {
    ExhaustiveSearch search;
    search.finished = tries_left_ >= 0;
    if (best_.empty()) return search;
    ExpertPlacement placement{layer_.experts(), grid_.nodes, grid_.slots, {}};
    for (std::size_t n = 0; n < index(grid_.nodes); ++n) {
      for (std::size_t i = 0; i < order_.size(); ++i) {
        placement.expert_at.insert(placement.expert_at.end(), index(best_[i][n]), order_[i]);
      }
      std::sort(placement.expert_at.end() - grid_.slots, placement.expert_at.end());
    }
    search.best = std::move(placement);
    return search;
  }

 private:
  void place_from(std::size_t position, const Partial& partial) {
    if (position == order_.size()) {
      best_value_ = goal_.value(lattice_.survived(partial.fatal));
      best_ = taken_;
      return;
    }
    for (Choice& choice : rated_choices(partial, layer_.replicas[index(order_[position])])) {
      if (choice.value <= best_value_ + kSameValue) return;
      taken_[position] = choice.taken;
      const Partial next = after(partial, std::move(choice));
      if (is_new(position, next)) place_from(position + 1, next);
      if (tries_left_ < 0) return;
    }
  }

  // Best first.
  std::vector<Choice> rated_choices(const Partial& partial, std::int32_t replicas) {
    std::vector<Choice> choices = Choices(partial, replicas, tries_left_).take();
    tries_left_ -= static_cast<std::int64_t>(choices.size());
    if (tries_left_ < 0) return {};
    for (Choice& choice : choices) {
      choice.fatal = partial.fatal;
      lattice_.add(choice.fatal, mask_of(choice.taken));
      choice.value = goal_.value(lattice_.survived(choice.fatal));
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.value > b.value; });
    return choices;
  }

  static Partial after(const Partial& partial, Choice choice) {
    Partial next{std::move(choice.fatal), with_set(partial.innermost, mask_of(choice.taken)), partial.vacant,
                 std::vector<std::int32_t>(partial.kind.size())};
    for (std::size_t n = 0; n < next.vacant.size(); ++n) next.vacant[n] -= choice.taken[n];
    const auto are_alike = [&](std::size_t a, std::size_t b) {
      return next.vacant[a] == next.vacant[b] &&
             std::all_of(next.innermost.begin(), next.innermost.end(),
                         [&](std::uint32_t set) { return (set >> a & 1) == (set >> b & 1); });
    };
    std::int32_t kinds = 0;
    for (std::size_t n = 0; n < next.vacant.size(); ++n) {
      std::size_t like = 0;
      while (!are_alike(like, n)) ++like;
      next.kind[n] = like == n ? kinds++ : next.kind[like];
    }
    return next;
  }

  // Whether these sets and vacant slots were not met before at this position.
  bool is_new(std::size_t position, const Partial& partial) {
    Hash hash;
    hash.add(position);
    for (const std::uint32_t set : partial.innermost) hash.add(set);
    for (const std::int32_t vacant : partial.vacant) hash.add(vacant);
    return met_.insert(hash.value()).second;
  }

  static constexpr double kSameValue = 1e-12;  // values are sums of a dozen numbers up to 1

  const LayerDemand& layer_;
  const SlotGrid grid_;
  const FailureLattice& lattice_;
  const LatticeGoal goal_;
  std::int64_t tries_left_;
  const std::vector<std::int32_t> order_;
  std::vector<std::vector<std::int32_t>> taken_;  // replicas on nodes, by position in order_
  std::vector<std::vector<std::int32_t>> best_{};
  double best_value_;
  std::unordered_set<std::uint64_t> met_{};
};

}  // namespace

ExhaustiveSearch search_exhaustively(const LayerDemand& layer, const SlotGrid& grid,
                                     const FailureLattice& lattice, double value, std::int64_t max_tried) {
  return BranchAndBound(layer, grid, lattice, value, max_tried).result();
}

}  // namespace goodput
