#include "models/placement_search/free_slot_moves.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "models/placement/gpu_slots.h"
#include "models/placement/node_sets.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// By expert, an innermost set among its nodes.
std::vector<std::size_t> deciding_set_of(const NodeSets& experts, const NodeSets& innermost_sets) {
  std::vector<std::size_t> of_expert;
  for (std::size_t e = 0; e < experts.size(); ++e) {
    std::size_t set = 0;
    while (!is_subset(innermost_sets.words(set), experts.words(e))) ++set;
    of_expert.push_back(set);
  }
  return of_expert;
}

// Slots that hold no replica which its expert's survival rests on.
std::vector<std::size_t> free_slots(const ExpertPlacement& placement) {
  const NodeSets experts = expert_nodes(placement);
  const NodeSets sets = innermost(experts);
  const std::vector<std::size_t> set_of = deciding_set_of(experts, sets);
  std::vector<std::size_t> free;
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    const auto node = placement.node(n);
    for (auto slot = node.begin(); slot != node.end(); ++slot) {
      const bool is_first = std::find(node.begin(), slot, *slot) == slot;
      if (is_first && sets.contains(set_of[index(*slot)], n)) continue;
      free.push_back(index(n) * node.size() + static_cast<std::size_t>(slot - node.begin()));
    }
  }
  return free;
}

// Keeps what maximum rank overlap rests on: the replicas of the first expert of each group of `slots`.
class Representatives {
 public:
  Representatives(std::span<const std::int32_t> replicas, std::int32_t slots) {
    std::vector<std::int32_t> ascending(replicas.begin(), replicas.end());
    std::sort(ascending.begin(), ascending.end());
    for (std::size_t first = 0; first < ascending.size(); first += index(slots)) {
      Bound bound{ascending[first], 0, 0, static_cast<std::ptrdiff_t>(first)};
      for (const std::int32_t r : ascending) {
        bound.fewer += r < bound.replicas ? 1 : 0;
        bound.up_to += r <= bound.replicas ? 1 : 0;
      }
      bounds_.push_back(bound);
    }
  }

  // Whether an expert may go from `from` to `to` replicas and another from `other_from` to `other_to`.
  bool try_change(std::int32_t from, std::int32_t to, std::int32_t other_from, std::int32_t other_to) {
    change(from, to);
    change(other_from, other_to);
    const bool kept = std::all_of(bounds_.begin(), bounds_.end(),
                                  [](const Bound& b) { return b.fewer <= b.first && b.first < b.up_to; });
    if (!kept) undo(from, to, other_from, other_to);
    return kept;
  }
  void undo(std::int32_t from, std::int32_t to, std::int32_t other_from, std::int32_t other_to) {
    change(to, from);
    change(other_to, other_from);
  }

 private:
  struct Bound {
    std::int32_t replicas;  // of the representative
    std::ptrdiff_t fewer;   // experts with fewer
    std::ptrdiff_t up_to;   // experts with at most as many
    std::ptrdiff_t first;   // its place in ascending order
  };
  void change(std::int32_t from, std::int32_t to) {
    for (Bound& b : bounds_) {
      b.fewer += (to < b.replicas ? 1 : 0) - (from < b.replicas ? 1 : 0);
      b.up_to += (to <= b.replicas ? 1 : 0) - (from <= b.replicas ? 1 : 0);
    }
  }

  std::vector<Bound> bounds_{};
};

double power(double load) {
  return load * load * load * load;
}

// The walk is over roles: role i has the slots that expert i had, as swaps and shifts change them; which
// expert plays it changes when two experts change roles.
class FreeSlotWalk {
 public:
  FreeSlotWalk(const LayerOnGpus& start, std::int32_t min_replicas)
      : ordered_(in_order_of_gpus(start.placement, start.layer, start.gpus)),
        slots_(index(start.placement.slots / start.gpus)),
        gpus_(index(start.placement.nodes) * index(start.gpus)),
        min_replicas_(min_replicas),
        role_at_(ordered_.expert_at),
        free_(free_slots(ordered_)),
        replicas_(start.layer.replicas),
        expert_of_(replicas_.size()),
        held_(replicas_.size() * gpus_),
        loads_(gpus_),
        representatives_(replicas_, start.placement.slots) {
    std::iota(expert_of_.begin(), expert_of_.end(), 0);
    const double tokens = std::accumulate(start.layer.loads.begin(), start.layer.loads.end(), 0.0);
    const double scale = tokens == 0 ? 0 : static_cast<double>(gpus_) / tokens;
    for (const std::int64_t load : start.layer.loads) tokens_.push_back(static_cast<double>(load) * scale);
    for (std::size_t slot = 0; slot < role_at_.size(); ++slot) {
      const std::size_t role = index(role_at_[slot]);
      ++held_[role * gpus_ + slot / slots_];
      loads_[slot / slots_] += per_replica(role);
    }
    unevenness_ = unevenness(loads_);
    keep_best();
  }

  void try_swap(const Cooling& cooling, RandomStream& random) {
    if (free_.empty()) return;
    const std::size_t a = free_[random.below(free_.size())];
    const std::size_t b = free_[random.below(free_.size())];
    const std::size_t from = a / slots_;
    const std::size_t to = b / slots_;
    if (from == to || role_at_[a] == role_at_[b]) return;
    const double moved = per_replica(index(role_at_[a])) - per_replica(index(role_at_[b]));
    const double worse =
        power(loads_[from] - moved) + power(loads_[to] + moved) - power(loads_[from]) - power(loads_[to]);
    if (!cooling.accepts(worse, random)) return;
    loads_[from] -= moved;
    loads_[to] += moved;
    unevenness_ += worse;
    exchange(a, b);
    keep_best();
  }

  void try_shift(const Cooling& cooling, RandomStream& random) {
    if (free_.empty()) return;
    const std::size_t slot = free_[random.below(free_.size())];
    const std::size_t x = index(role_at_[slot]);
    const std::size_t y = random.below(replicas_.size());
    if (x == y || replicas_[x] <= min_replicas_) return;
    const std::int32_t r_x = replicas_[x];
    const std::int32_t r_y = replicas_[y];
    const double load_x = tokens_[x] / (r_x - 1);
    if (!representatives_.try_change(r_x, r_x - 1, r_y, r_y + 1)) return;
    const double load_y = tokens_[y] / (r_y + 1);
    changed_ = loads_;
    add(x, load_x - per_replica(x));
    add(y, load_y - per_replica(y));
    changed_[slot / slots_] += load_y - load_x;
    if (!accept_changed(cooling, random)) {
      representatives_.undo(r_x, r_x - 1, r_y, r_y + 1);
      return;
    }
    --replicas_[x];
    ++replicas_[y];
    --held_[x * gpus_ + slot / slots_];
    ++held_[y * gpus_ + slot / slots_];
    role_at_[slot] = static_cast<std::int32_t>(y);
    keep_best();
  }

  // Two experts change roles, nodes and all: whatever is survived stays so.
  enum class Roles { kAny, kOfAsManyReplicas };
  void try_roles(Roles roles, const Cooling& cooling, RandomStream& random) {
    const std::size_t x = random.below(replicas_.size());
    const std::size_t y = random.below(replicas_.size());
    if (x == y || (roles == Roles::kOfAsManyReplicas && replicas_[x] != replicas_[y])) return;
    const double more = tokens_[y] - tokens_[x];
    changed_ = loads_;
    add(x, more / replicas_[x]);
    add(y, -more / replicas_[y]);
    if (!accept_changed(cooling, random)) return;
    std::swap(tokens_[x], tokens_[y]);
    std::swap(expert_of_[x], expert_of_[y]);
    keep_best();
  }

  // The best on the way.
  [[nodiscard]] LayerOnGpus best(const LayerOnGpus& start) const {
    LayerOnGpus result = start;
    std::vector<std::int32_t> expert_at;
    for (const std::int32_t role : best_role_at_) expert_at.push_back(best_expert_of_[index(role)]);
    result.placement = with_slots(start.placement, std::move(expert_at));
    std::fill(result.layer.replicas.begin(), result.layer.replicas.end(), 0);
    for (const std::int32_t expert : result.placement.expert_at) ++result.layer.replicas[index(expert)];
    return result;
  }

 private:
  [[nodiscard]] double per_replica(std::size_t role) const { return tokens_[role] / replicas_[role]; }

  static double unevenness(const std::vector<double>& loads) {
    double sum = 0;
    for (const double load : loads) sum += power(load);
    return sum;
  }

  // changed_ += more for each replica of the role.
  void add(std::size_t role, double more) {
    const std::int32_t* held = &held_[role * gpus_];
    for (std::size_t n = 0; n < gpus_; ++n) changed_[n] += held[n] * more;
  }

  bool accept_changed(const Cooling& cooling, RandomStream& random) {
    const double changed = unevenness(changed_);
    if (!cooling.accepts(changed - unevenness_, random)) return false;
    unevenness_ = changed;
    std::swap(loads_, changed_);
    return true;
  }

  void exchange(std::size_t a, std::size_t b) {
    const std::size_t x = index(role_at_[a]) * gpus_;
    const std::size_t y = index(role_at_[b]) * gpus_;
    --held_[x + a / slots_];
    ++held_[x + b / slots_];
    --held_[y + b / slots_];
    ++held_[y + a / slots_];
    std::swap(role_at_[a], role_at_[b]);
  }

  void keep_best() {
    if (unevenness_ >= best_unevenness_ * (1 - 1e-12)) return;
    best_unevenness_ = unevenness_;
    best_role_at_ = role_at_;
    best_expert_of_ = expert_of_;
  }

  const ExpertPlacement ordered_;
  const std::size_t slots_;  // of a GPU
  const std::size_t gpus_;   // of all nodes
  const std::int32_t min_replicas_;
  std::vector<std::int32_t> role_at_;
  const std::vector<std::size_t> free_;
  std::vector<std::int32_t> replicas_;   // by role
  std::vector<std::int32_t> expert_of_;  // by role
  std::vector<double> tokens_{};         // by role, over the mean load of a GPU
  std::vector<std::int32_t> held_;       // roles x GPUs
  std::vector<double> loads_;            // of GPUs
  std::vector<double> changed_{};
  Representatives representatives_;
  double unevenness_ = 0;
  double best_unevenness_ = 1e300;
  std::vector<std::int32_t> best_role_at_{};
  std::vector<std::int32_t> best_expert_of_{};
};

}  // namespace

LayerOnGpus swap_free_slots(const LayerOnGpus& start, const Annealing& annealing, RandomStream& random) {
  FreeSlotWalk walk(start, 1);
  Cooling cooling(annealing);
  for (std::int64_t move = 0; move < annealing.moves; ++move, cooling.cool()) {
    if (random.below(4) == 0) {
      walk.try_roles(FreeSlotWalk::Roles::kOfAsManyReplicas, cooling, random);
    } else {
      walk.try_swap(cooling, random);
    }
  }
  return walk.best(start);
}

LayerOnGpus shift_free_slots(const LayerOnGpus& start, std::int32_t min_replicas, const Annealing& annealing,
                             RandomStream& random) {
  FreeSlotWalk walk(start, min_replicas);
  Cooling cooling(annealing);
  for (std::int64_t move = 0; move < annealing.moves; ++move, cooling.cool()) {
    switch (random.below(4)) {
      case 0:
        walk.try_shift(cooling, random);
        break;
      case 1:
        walk.try_roles(FreeSlotWalk::Roles::kAny, cooling, random);
        break;
      default:
        walk.try_swap(cooling, random);
    }
  }
  return walk.best(start);
}

}  // namespace goodput
