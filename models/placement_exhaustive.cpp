// Branch and bound over placements: expert after expert, fewest replicas first, onto nodes that are told
// apart only by what they hold. Placing more experts never adds a failure that is survived, so a partial
// placement worth no more than the best complete one is given up.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "models/placement_search.h"
#include "sim/errors.h"
#include "sim/index.h"

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
  std::vector<std::int32_t> vacant{};
  std::vector<std::int32_t> kind{};  // nodes of one kind hold the same experts and have as many vacant slots
};

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
    place_from(0, {lattice.none(), std::vector<std::int32_t>(index(grid.nodes), grid.slots),
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
      place_from(position + 1, after(partial, std::move(choice)));
      if (tries_left_ < 0) return;
    }
  }

  // Best first.
  std::vector<Choice> rated_choices(const Partial& partial, std::int32_t replicas) {
    std::vector<Choice> choices = Choices(partial, replicas, tries_left_).take();
    tries_left_ -= static_cast<std::int64_t>(choices.size());
    if (tries_left_ < 0) return {};
    for (Choice& choice : choices) {
      std::uint32_t nodes = 0;
      for (std::size_t n = 0; n < choice.taken.size(); ++n) nodes |= (choice.taken[n] > 0 ? 1U : 0U) << n;
      choice.fatal = partial.fatal;
      lattice_.add(choice.fatal, nodes);
      choice.value = goal_.value(lattice_.survived(choice.fatal));
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.value > b.value; });
    return choices;
  }

  static Partial after(const Partial& partial, Choice choice) {
    Partial next{std::move(choice.fatal), partial.vacant, std::vector<std::int32_t>(partial.kind.size())};
    std::int32_t kinds = 0;
    for (std::size_t n = 0; n < next.vacant.size(); ++n) {
      next.vacant[n] -= choice.taken[n];
      std::size_t like = 0;
      while (partial.kind[like] != partial.kind[n] || (choice.taken[like] > 0) != (choice.taken[n] > 0) ||
             next.vacant[like] != next.vacant[n]) {
        ++like;
      }
      next.kind[n] = like == n ? kinds++ : next.kind[like];
    }
    return next;
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
};

}  // namespace

ExhaustiveSearch search_exhaustively(const LayerDemand& layer, const SlotGrid& grid,
                                     const FailureLattice& lattice, double value, std::int64_t max_tried) {
  return BranchAndBound(layer, grid, lattice, value, max_tried).result();
}

}  // namespace goodput
