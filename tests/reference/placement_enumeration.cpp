#include "tests/reference/placement_enumeration.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

namespace goodput::reference {
namespace {

using Replicas = std::vector<std::int32_t>;

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// Takes in what one more placement survives.
void take_in(SurvivalOptimum& optimum, const SurvivedSets& survived) {
  if (optimum.most.empty()) optimum.most.resize(survived.size());
  bool is_most = true;
  bool is_more = false;
  for (std::size_t k = 0; k < survived.size(); ++k) {
    is_more = is_more || survived[k] > optimum.most[k];
    is_most = is_most && survived[k] >= optimum.most[k];
    optimum.most[k] = std::max(optimum.most[k], survived[k]);
  }
  if (is_most) {
    optimum.at_every_k_at_once = true;
  } else if (is_more) {
    optimum.at_every_k_at_once = false;
  }
}

class AllPlacements {
 public:
  AllPlacements(Replicas replicas, std::int32_t nodes, std::int32_t slots)
      : left_(std::move(replicas)), slots_(index(slots)), held_(index(nodes)) {
    fill(0, 0);
  }
  [[nodiscard]] SurvivalOptimum take() { return std::move(optimum_); }

 private:
  // The next slot of the node takes expert `from` or a later one.
  void fill(std::size_t node, std::size_t from) {
    if (node == held_.size()) {
      rate();
      return;
    }
    std::vector<std::size_t>& here = held_[node];
    if (here.size() == slots_) {
      if (node == 0 || held_[node - 1] <= here) fill(node + 1, 0);
      return;
    }
    for (std::size_t e = from; e < left_.size(); ++e) {
      if (left_[e] == 0) continue;
      --left_[e];
      here.push_back(e);
      fill(node, e);
      held_[node].pop_back();
      ++left_[e];
    }
  }

  void rate() {
    std::vector<std::uint32_t> expert_nodes(left_.size());
    for (std::size_t n = 0; n < held_.size(); ++n) {
      for (const std::size_t e : held_[n]) expert_nodes[e] |= 1U << n;
    }
    ++optimum_.placements;
    take_in(optimum_, survived_sets(expert_nodes, static_cast<std::int32_t>(held_.size())));
  }

  Replicas left_;  // replicas not placed yet
  const std::size_t slots_;
  std::vector<std::vector<std::size_t>> held_;  // experts, by node
  SurvivalOptimum optimum_{};
};

// The nodes of some experts and the free slots left, described without the names of nodes and experts: equal
// descriptions are the same state. (Not every state is described in one way only.)
using Description = std::vector<std::uint64_t>;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0x9E3779B97F4A7C15ULL;
  return a ^ a >> 29;
}

Description describe(const std::vector<std::uint32_t>& sets, const Replicas& vacant) {
  // Sets are told apart by the nodes in them, nodes by the sets they are in, again and again.
  std::vector<std::uint64_t> of_set(sets.size());
  std::vector<std::uint64_t> of_node(vacant.begin(), vacant.end());
  for (int round = 0; round < 3; ++round) {
    for (std::size_t s = 0; s < sets.size(); ++s) {
      std::uint64_t sum = 0;
      for (std::size_t n = 0; n < vacant.size(); ++n) sum += (sets[s] >> n & 1U) * mixed(of_node[n], 1);
      of_set[s] = mixed(of_set[s], sum);
    }
    for (std::size_t n = 0; n < vacant.size(); ++n) {
      std::uint64_t sum = 0;
      for (std::size_t s = 0; s < sets.size(); ++s) sum += (sets[s] >> n & 1U) * mixed(of_set[s], 2);
      of_node[n] = mixed(of_node[n], sum);
    }
  }
  std::vector<std::size_t> order(sets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return of_set[a] < of_set[b]; });
  Description nodes(vacant.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const std::size_t s : order) nodes[n] = nodes[n] << 1 | (sets[s] >> n & 1U);
    nodes[n] = nodes[n] << 8 | static_cast<std::uint64_t>(vacant[n]);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.push_back(sets.size());
  return nodes;
}

// Sets of failed nodes as bits, one for each of the 2^N masks.
constexpr std::int32_t kMostNodes = 10;
constexpr std::size_t kMostExperts = 48;  // and 8 bits of free slots in a word of a description
using FailureBits = std::array<std::uint64_t, (1U << kMostNodes) / 64>;

class ClassesOfNodes {
 public:
  ClassesOfNodes(Replicas replicas, std::int32_t nodes, std::int32_t slots, const SurvivedSets& achieved,
                 std::int64_t most_tried)
      : replicas_(std::move(replicas)), nodes_(index(nodes)), tries_left_(most_tried) {
    if (nodes > kMostNodes || replicas_.size() > kMostExperts) throw std::invalid_argument("too large");
    std::sort(replicas_.begin(), replicas_.end());
    with_failures_.resize(nodes_ + 1);
    supersets_.resize(std::size_t{1} << nodes_);
    for (std::uint32_t failed = 0; failed < 1U << nodes_; ++failed) {
      const std::uint64_t bit = std::uint64_t{1} << (failed % 64);
      with_failures_[static_cast<std::size_t>(std::popcount(failed))][failed / 64] |= bit;
      for (std::uint32_t set = failed;; set = (set - 1) & failed) {
        supersets_[set][failed / 64] |= bit;
        if (set == 0) break;
      }
    }
    met_.resize(replicas_.size());
    optimum_.most = achieved.empty() ? SurvivedSets(nodes_ + 1) : achieved;
    optimum_.at_every_k_at_once = !achieved.empty();
    place(0, {FailureBits{}, {}, Replicas(nodes_, slots)});
  }
  [[nodiscard]] std::optional<SurvivalOptimum> take() {
    if (tries_left_ < 0) return std::nullopt;
    return std::move(optimum_);
  }

 private:
  struct Partial {
    FailureBits fatal{};
    std::vector<std::uint32_t> sets{};  // nodes of the experts so far, innermost only
    Replicas vacant{};                  // slots, by node
  };
  struct Choice {
    Replicas taken{};  // replicas, by node
    FailureBits fatal{};
    SurvivedSets survived{};
    std::int64_t sum = 0;
  };

  void place(std::size_t expert, const Partial& partial) {
    if (expert == replicas_.size()) {
      ++optimum_.placements;
      take_in(optimum_, count(partial.fatal));
      return;
    }
    std::vector<Choice> choices;
    Replicas taken(nodes_);
    const std::vector<std::size_t> like = previous_alike(partial);
    choose(partial, like, 0, replicas_[expert], taken, choices);
    tries_left_ -= static_cast<std::int64_t>(choices.size());
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.sum > b.sum; });
    for (const Choice& choice : choices) {
      if (is_hopeless(choice.survived) || tries_left_ < 0) continue;
      Partial next{choice.fatal, partial.sets, partial.vacant};
      std::uint32_t set = 0;
      for (std::size_t n = 0; n < nodes_; ++n) {
        next.vacant[n] -= choice.taken[n];
        if (choice.taken[n] > 0) set |= 1U << n;
      }
      add_innermost(next.sets, set);
      if (!met_[expert].insert(describe(next.sets, next.vacant)).second) continue;
      place(expert + 1, next);
    }
  }

  // Placing more experts never adds to what is survived.
  [[nodiscard]] bool is_hopeless(const SurvivedSets& survived) const {
    bool is_equal = true;
    for (std::size_t k = 0; k < survived.size(); ++k) {
      if (survived[k] > optimum_.most[k]) return false;
      is_equal = is_equal && survived[k] == optimum_.most[k];
    }
    return !is_equal || optimum_.at_every_k_at_once;
  }

  static void add_innermost(std::vector<std::uint32_t>& sets, std::uint32_t set) {
    for (const std::uint32_t other : sets) {
      if ((other & set) == other) return;
    }
    std::erase_if(sets, [set](std::uint32_t other) { return (other & set) == set; });
    sets.push_back(set);
  }

  // Of each node, the last one before it with as many free slots and in the same sets; itself when there is
  // none.
  [[nodiscard]] std::vector<std::size_t> previous_alike(const Partial& partial) const {
    std::map<std::pair<std::int32_t, std::vector<bool>>, std::size_t> last;
    std::vector<std::size_t> like(nodes_);
    for (std::size_t n = 0; n < nodes_; ++n) {
      std::vector<bool> in;
      for (const std::uint32_t set : partial.sets) in.push_back((set >> n & 1U) != 0);
      const auto [at, is_first] = last.try_emplace({partial.vacant[n], std::move(in)}, n);
      like[n] = at->second;
      at->second = n;
    }
    return like;
  }

  // Nodes that are alike take in descending order.
  void choose(const Partial& partial, const std::vector<std::size_t>& like, std::size_t node,
              std::int32_t left, Replicas& taken, std::vector<Choice>& choices) const {
    if (node == nodes_) {
      if (left == 0) choices.push_back(rated(partial, taken));
      return;
    }
    std::int32_t most = std::min(partial.vacant[node], left);
    if (like[node] != node) most = std::min(most, taken[like[node]]);
    for (std::int32_t take = most; take >= 0; --take) {
      taken[node] = take;
      choose(partial, like, node + 1, left - take, taken, choices);
    }
    taken[node] = 0;
  }

  [[nodiscard]] Choice rated(const Partial& partial, const Replicas& taken) const {
    Choice choice{taken, partial.fatal, {}, 0};
    std::size_t set = 0;
    for (std::size_t n = 0; n < nodes_; ++n) set |= static_cast<std::size_t>(taken[n] > 0) << n;
    for (std::size_t w = 0; w < choice.fatal.size(); ++w) choice.fatal[w] |= supersets_[set][w];
    choice.survived = count(choice.fatal);
    for (const std::int64_t survived : choice.survived) choice.sum += survived;
    return choice;
  }

  [[nodiscard]] SurvivedSets count(const FailureBits& fatal) const {
    SurvivedSets counts(nodes_ + 1);
    const std::size_t words = ((std::size_t{1} << nodes_) + 63) / 64;
    for (std::size_t k = 0; k <= nodes_; ++k) {
      for (std::size_t w = 0; w < words; ++w) counts[k] += std::popcount(with_failures_[k][w] & ~fatal[w]);
    }
    return counts;
  }

  Replicas replicas_;
  const std::size_t nodes_;
  std::int64_t tries_left_;
  std::vector<FailureBits> with_failures_{};  // sets of k failed nodes, by k
  std::vector<FailureBits> supersets_{};      // of a set of nodes, by mask
  std::vector<std::set<Description>> met_{};  // by number of experts placed
  SurvivalOptimum optimum_{};
};

void extend(Replicas& so_far, std::int32_t experts, std::int32_t left, std::int32_t least,
            std::vector<Replicas>& all) {
  if (experts == 0) {
    if (left == 0) all.push_back(so_far);
    return;
  }
  for (std::int32_t r = least; r * experts <= left; ++r) {
    so_far.push_back(r);
    extend(so_far, experts - 1, left - r, r, all);
    so_far.pop_back();
  }
}

}  // namespace

SurvivedSets survived_sets(std::span<const std::uint32_t> expert_nodes, std::int32_t nodes) {
  SurvivedSets survived(index(nodes) + 1);
  for (std::uint32_t failed = 0; failed < 1U << nodes; ++failed) {
    bool all_live = true;
    for (const std::uint32_t nodes_of : expert_nodes) all_live = all_live && (nodes_of & ~failed) != 0;
    survived[static_cast<std::size_t>(std::popcount(failed))] += all_live ? 1 : 0;
  }
  return survived;
}

SurvivalOptimum try_all_placements(std::span<const std::int32_t> replicas, std::int32_t nodes,
                                   std::int32_t slots) {
  return AllPlacements({replicas.begin(), replicas.end()}, nodes, slots).take();
}

std::optional<SurvivalOptimum> try_classes_of_nodes(std::span<const std::int32_t> replicas,
                                                    std::int32_t nodes, std::int32_t slots,
                                                    const SurvivedSets& achieved, std::int64_t most_tried) {
  return ClassesOfNodes({replicas.begin(), replicas.end()}, nodes, slots, achieved, most_tried).take();
}

std::vector<std::vector<std::int32_t>> replica_vectors(std::int32_t experts, std::int32_t total,
                                                       std::int32_t least) {
  std::vector<Replicas> all;
  Replicas so_far;
  extend(so_far, experts, total, least, all);
  return all;
}

}  // namespace goodput::reference
