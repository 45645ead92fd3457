#include "models/placement/survival.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "sim/base/errors.h"
#include "sim/base/index.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

// Nodes in an order in which few sets are begun and not finished: the nodes of the set with the fewest nodes
// left, again and again; nodes of no set last.
std::vector<std::int32_t> finishing_order(const NodeSets& sets) {
  std::vector<std::int32_t> order;
  std::vector<char> seen(index(sets.nodes()));
  std::vector<std::int32_t> left(sets.size());
  for (std::size_t s = 0; s < sets.size(); ++s) left[s] = sets.count(s);
  for (std::size_t done = 0; done < sets.size(); ++done) {
    std::size_t next = sets.size();
    for (std::size_t s = 0; s < sets.size(); ++s) {
      if (left[s] > 0 && (next == sets.size() || left[s] < left[next])) next = s;
    }
    if (next == sets.size()) break;
    for (std::int32_t n = 0; n < sets.nodes(); ++n) {
      if (seen[index(n)] != 0 || !sets.contains(next, n)) continue;
      seen[index(n)] = 1;
      order.push_back(n);
      for (std::size_t s = 0; s < sets.size(); ++s) left[s] -= sets.contains(s, n) ? 1 : 0;
    }
  }
  for (std::int32_t n = 0; n < sets.nodes(); ++n) {
    if (seen[index(n)] == 0) order.push_back(n);
  }
  return order;
}

// What happens to the sets at one node of the order. A set has a bit while it is open: from its first node to
// its last.
struct FrontierStep {
  std::uint64_t opened = 0;
  std::uint64_t members = 0;  // all sets with this node
  std::uint64_t closed = 0;
};

// None when more than 64 sets are open at once.
std::optional<std::vector<FrontierStep>> frontier_steps(const NodeSets& sets) {
  const std::vector<std::int32_t> order = finishing_order(sets);
  std::vector<FrontierStep> steps(order.size());
  std::vector<int> bit_of(sets.size(), -1);
  std::vector<std::int32_t> left(sets.size());
  for (std::size_t s = 0; s < sets.size(); ++s) left[s] = sets.count(s);
  std::uint64_t used = 0;
  for (std::size_t t = 0; t < order.size(); ++t) {
    FrontierStep& step = steps[t];
    for (std::size_t s = 0; s < sets.size(); ++s) {
      if (!sets.contains(s, order[t])) continue;
      if (bit_of[s] < 0) {
        if (used == ~std::uint64_t{0}) return std::nullopt;
        bit_of[s] = std::countr_one(used);
        step.opened |= std::uint64_t{1} << bit_of[s];
        used |= step.opened;
      }
      const std::uint64_t bit = std::uint64_t{1} << bit_of[s];
      step.members |= bit;
      if (--left[s] == 0) step.closed |= bit;
    }
    used &= ~step.closed;
  }
  return steps;
}

// The failure patterns of the nodes so far that leave the same open sets without a live node.
struct FrontierStates {
  std::vector<std::uint64_t> pending{};  // ascending: open sets with failed nodes only
  // states x (max_failures + 1): of the choices of j failed nodes among those seen so far, the share that
  // ends in this state.
  std::vector<double> share{};
};

struct Move {
  std::uint64_t pending;
  std::size_t from;
  bool fails;
};

// REQUIRES: `seen` nodes have been before this one.
FrontierStates after_node(const FrontierStates& states, const FrontierStep& step, std::size_t seen,
                          std::size_t width) {
  std::vector<Move> moves;
  for (std::size_t from = 0; from < states.pending.size(); ++from) {
    const std::uint64_t pending = states.pending[from];
    moves.push_back({pending & ~step.members, from, false});
    const std::uint64_t failed = pending | step.opened;
    if ((failed & step.closed) == 0) moves.push_back({failed, from, true});
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const Move& a, const Move& b) { return a.pending < b.pending; });
  FrontierStates next;
  const double nodes = static_cast<double>(seen + 1);
  for (const Move& move : moves) {
    if (next.pending.empty() || next.pending.back() != move.pending) {
      next.pending.push_back(move.pending);
      next.share.resize(next.share.size() + width);
    }
    double* into = &next.share[next.share.size() - width];
    const double* share = &states.share[move.from * width];
    const std::size_t most = std::min(width - 1, seen + 1);
    // C(seen, j) / C(seen + 1, j) and C(seen, j - 1) / C(seen + 1, j).
    if (move.fails) {
      for (std::size_t j = 1; j <= most; ++j) into[j] += share[j - 1] * (static_cast<double>(j) / nodes);
    } else {
      for (std::size_t j = 0; j <= most; ++j)
        into[j] += share[j] * (static_cast<double>(seen + 1 - j) / nodes);
    }
  }
  return next;
}

// Failures that no set can be lost to: fewer than its nodes.
std::int32_t harmless_failures(const NodeSets& sets) {
  std::int32_t smallest = sets.nodes() + 1;
  for (std::size_t s = 0; s < sets.size(); ++s) smallest = std::min(smallest, sets.count(s));
  return smallest - 1;
}

// What is known of the probabilities: 1 where no set can be lost, never more than for one failure less, and a
// whole number of failure sets over all of them, where that can be told.
void remove_rounding(std::vector<double>& survived, const NodeSets& sets) {
  constexpr double kTellable = 1e9;  // far below what an error of 1e-13 could turn into another number
  const std::int32_t harmless = harmless_failures(sets);
  for (std::size_t k = 0; k < survived.size(); ++k) {
    const double all = choose(sets.nodes(), static_cast<std::int32_t>(k));
    if (all <= kTellable) survived[k] = std::round(survived[k] * all) / all;
    if (static_cast<std::int32_t>(k) <= harmless) survived[k] = 1;
    if (k > 0) survived[k] = std::min(survived[k], survived[k - 1]);
  }
}

// Counts down how many live nodes each set still has while nodes fail one by one.
class LiveCounts {
 public:
  explicit LiveCounts(const NodeSets& sets) : sets_of_(index(sets.nodes())), live_(sets.size()) {
    for (std::size_t s = 0; s < sets.size(); ++s) {
      live_[s] = sets.count(s);
      dead_ += live_[s] == 0 ? 1 : 0;
      for (std::int32_t n = 0; n < sets.nodes(); ++n) {
        if (sets.contains(s, n)) sets_of_[index(n)].push_back(s);
      }
    }
  }

  // Whether every set still has a live node.
  bool fail(std::int32_t node) {
    for (const std::size_t s : sets_of_[index(node)]) dead_ += --live_[s] == 0 ? 1 : 0;
    return dead_ == 0;
  }
  void revive(std::int32_t node) {
    for (const std::size_t s : sets_of_[index(node)]) dead_ -= live_[s]++ == 0 ? 1 : 0;
  }

 private:
  std::vector<std::vector<std::size_t>> sets_of_;
  std::vector<std::int32_t> live_;
  std::size_t dead_ = 0;
};

// Failure sets of `left` more nodes from `first` on that are survived.
double count_survived(LiveCounts& live, std::int32_t first, std::int32_t nodes, std::int32_t left) {
  if (left == 0) return 1;
  double count = 0;
  for (std::int32_t n = first; n + left <= nodes; ++n) {
    if (live.fail(n)) count += count_survived(live, n + 1, nodes, left - 1);
    live.revive(n);
  }
  return count;
}

// Wilson's score interval at 95 %.
void set_interval(Survival& survival, double samples) {
  constexpr double kZ = 1.959963984540054;
  const double p = survival.probability;
  const double scale = 1 / (1 + kZ * kZ / samples);
  const double centre = scale * (p + kZ * kZ / (2 * samples));
  const double half = scale * kZ * std::sqrt(p * (1 - p) / samples + kZ * kZ / (4 * samples * samples));
  survival.low = p == 0 ? 0 : centre - half;
  survival.high = p == 1 ? 1 : centre + half;
}

}  // namespace

double choose(std::int32_t n, std::int32_t k) {
  if (k < 0 || k > n) return 0;
  double value = 1;
  for (std::int32_t i = 1; i <= std::min(k, n - k) && std::isfinite(value); ++i)
    value = value * (n - std::min(k, n - k) + i) / i;
  return std::round(value);
}

std::optional<std::vector<double>> survival_by_recursion(const NodeSets& sets, std::int32_t max_failures,
                                                         std::size_t max_states) {
  const auto steps = frontier_steps(sets);
  if (!steps) return std::nullopt;
  const std::size_t width = index(max_failures) + 1;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    if (sets.count(s) == 0) return std::vector<double>(width);  // an expert that nobody holds
  }
  FrontierStates states{{0}, std::vector<double>(width)};
  states.share[0] = 1;
  for (std::size_t t = 0; t < steps->size(); ++t) {
    states = after_node(states, (*steps)[t], t, width);
    if (states.pending.size() > max_states) return std::nullopt;
  }
  if (states.pending.empty()) return std::vector<double>(width);
  GOODPUT_CHECK(states.pending.size() == 1,
                "every set of nodes must be complete at the end of the recursion");
  remove_rounding(states.share, sets);
  return std::move(states.share);
}

double survival_by_enumeration(const NodeSets& sets, std::int32_t failures) {
  LiveCounts live(sets);
  return count_survived(live, 0, sets.nodes(), failures) / choose(sets.nodes(), failures);
}

Survival survival_by_sampling(const NodeSets& sets, std::int32_t failures, std::int64_t samples,
                              std::uint64_t seed) {
  RandomStream random(seed, "failed nodes", static_cast<std::uint64_t>(failures));
  std::vector<std::int32_t> nodes(index(sets.nodes()));
  std::iota(nodes.begin(), nodes.end(), 0);
  LiveCounts live(sets);
  std::int64_t survived = 0;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    bool alive = true;
    std::size_t failed = 0;
    for (; failed < index(failures) && alive; ++failed) {
      std::swap(nodes[failed], nodes[failed + random.below(nodes.size() - failed)]);
      alive = live.fail(nodes[failed]);
    }
    survived += alive ? 1 : 0;
    while (failed > 0) live.revive(nodes[--failed]);
  }
  Survival result;
  result.failures = failures;
  result.probability = static_cast<double>(survived) / static_cast<double>(samples);
  result.method = SurvivalMethod::kMonteCarlo;
  set_interval(result, static_cast<double>(samples));
  return result;
}

std::vector<Survival> survival(const NodeSets& sets, std::int32_t first, std::int32_t last,
                               const SurvivalOptions& options) {
  GOODPUT_CHECK(0 <= first && first <= last && last <= sets.nodes(),
                "the number of failed nodes must be from 0 to the number of nodes");
  const auto exact = survival_by_recursion(sets, last, options.max_states);
  const std::int32_t harmless = harmless_failures(sets);
  std::vector<Survival> curve;
  for (std::int32_t k = first; k <= last; ++k) {
    if (k <= harmless) {
      curve.push_back({k, 1, 1, 1, SurvivalMethod::kExact});
      continue;
    }
    if (!exact && choose(sets.nodes(), k) > options.max_enumerated) {
      curve.push_back(survival_by_sampling(sets, k, options.samples, options.seed));
      continue;
    }
    const double p = exact ? (*exact)[index(k)] : survival_by_enumeration(sets, k);
    curve.push_back({k, p, p, p, SurvivalMethod::kExact});
  }
  return curve;
}

}  // namespace goodput
