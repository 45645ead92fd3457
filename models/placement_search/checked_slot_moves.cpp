#include "models/placement_search/checked_slot_moves.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/placement/gpu_slots.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

// Loads of GPUs over their mean; each has `unit` slots in a row.
class GpuLoads {
 public:
  GpuLoads(const SlotState& state, const LayerDemand& layer, std::size_t unit)
      : loads_(state.slots() / unit) {
    const double tokens = std::accumulate(layer.loads.begin(), layer.loads.end(), 0.0);
    const double scale = tokens == 0 ? 0 : static_cast<double>(loads_.size()) / tokens;
    for (std::int32_t e = 0; e < layer.experts(); ++e) replica_.push_back(layer.load_per_replica(e) * scale);
    for (std::size_t slot = 0; slot < state.slots(); ++slot) {
      loads_[slot / unit] += replica_[index(state.expert(slot))];
    }
  }

  // How far from even: fourth powers, for the busiest count most.
  [[nodiscard]] double unevenness() const {
    double sum = 0;
    for (const double load : loads_) sum += power(load);
    return sum;
  }
  [[nodiscard]] double busiest() const { return *std::max_element(loads_.begin(), loads_.end()); }

  void swap(std::int32_t x, std::size_t a, std::int32_t y, std::size_t b) {
    const double moved = replica_[index(x)] - replica_[index(y)];
    loads_[a] -= moved;
    loads_[b] += moved;
  }

 private:
  static double power(double load) { return load * load * load * load; }

  std::vector<double> loads_;
  std::vector<double> replica_{};  // load of one, by expert
};

// One walk of an annealing: the placement and its loads, and the best it met.
class BalanceWalk {
 public:
  BalanceWalk(const LayerOnGpus& start, std::int32_t min_replicas, const LatticeGoal& goal)
      : min_replicas_(min_replicas),
        goal_(goal),
        layer_(start.layer),
        unit_(index(start.placement.slots / start.gpus)),
        state_(in_order_of_gpus(start.placement, start.layer, start.gpus)),
        loads_(state_, layer_, unit_),
        best_(start),
        least_(loads_.busiest()) {}

  void try_swaps(const std::vector<SlotSwap>& swaps, const Cooling& cooling, RandomStream& random) {
    if (swaps.empty()) return;
    GpuLoads swapped = loads_;
    for (const SlotSwap& swap : swaps) {
      swapped.swap(state_.expert(swap.a), swap.a / unit_, state_.expert(swap.b), swap.b / unit_);
    }
    if (!cooling.accepts(swapped.unevenness() - loads_.unevenness(), random)) return;
    for (const SlotSwap& swap : swaps) state_.swap(swap.a, swap.b);
    if (!goal_.meets_floor(state_.nodes_of_experts())) {
      for (const SlotSwap& swap : swaps) state_.swap(swap.a, swap.b);
      return;
    }
    loads_ = std::move(swapped);
    keep_best();
  }
  void try_swaps(const Cooling& cooling, RandomStream& random) {
    if (random.below(2) == 0) {
      try_swaps(draw_exchange(state_, random), cooling, random);
    } else if (const auto swap = draw_swap(state_, unit_, random)) {
      try_swaps(std::vector{*swap}, cooling, random);
    }
  }

  // Turns a replica into one of another expert.
  void try_shift(const Cooling& cooling, RandomStream& random) {
    const std::size_t slot = random.below(state_.slots());
    const std::int32_t x = state_.expert(slot);
    const auto y = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(state_.experts())));
    if (x == y || layer_.replicas[index(x)] <= min_replicas_) return;
    shift(slot, y);
    GpuLoads shifted(state_, layer_, unit_);
    if (!cooling.accepts(shifted.unevenness() - loads_.unevenness(), random) || !survives_enough()) {
      shift(slot, x);
      return;
    }
    loads_ = std::move(shifted);
    keep_best();
  }

  // Two experts change roles, replicas and all: whatever is survived stays so.
  enum class Roles { kAny, kOfAsManyReplicas };
  void try_roles(Roles roles, const Cooling& cooling, RandomStream& random) {
    const auto experts = static_cast<std::uint64_t>(state_.experts());
    const auto x = static_cast<std::int32_t>(random.below(experts));
    const auto y = static_cast<std::int32_t>(random.below(experts));
    const bool as_many = layer_.replicas[index(x)] == layer_.replicas[index(y)];
    if (x == y || (roles == Roles::kOfAsManyReplicas && !as_many)) return;
    change_roles(x, y);
    GpuLoads changed(state_, layer_, unit_);
    if (!cooling.accepts(changed.unevenness() - loads_.unevenness(), random)) {
      change_roles(x, y);
      return;
    }
    loads_ = std::move(changed);
    keep_best();
  }

  [[nodiscard]] LayerOnGpus best() && {
    best_.placement = with_slots(best_.placement, std::move(best_.placement.expert_at));
    return std::move(best_);
  }

 private:
  void shift(std::size_t slot, std::int32_t to) {
    --layer_.replicas[index(state_.expert(slot))];
    ++layer_.replicas[index(to)];
    state_.replace(slot, to);
  }

  void change_roles(std::int32_t x, std::int32_t y) {
    std::swap(layer_.replicas[index(x)], layer_.replicas[index(y)]);
    for (std::size_t slot = 0; slot < state_.slots(); ++slot) {
      const std::int32_t expert = state_.expert(slot);
      if (expert == x || expert == y) state_.replace(slot, expert == x ? y : x);
    }
  }

  // As the goal wants it, and as these replicas do in maximum rank overlap and in spread.
  [[nodiscard]] bool survives_enough() const {
    if (!goal_.meets_floor(state_.nodes_of_experts())) return false;
    const FailureLattice& lattice = goal_.lattice();
    for (const auto& baseline : {overlap_survives(lattice), spread_survives(lattice)}) {
      if (!LatticeGoal(lattice, lattice.none(), baseline).meets_floor(state_.nodes_of_experts()))
        return false;
    }
    return true;
  }
  [[nodiscard]] FailureLattice::Counts overlap_survives(const FailureLattice& lattice) const {
    std::vector<std::int32_t> ascending = layer_.replicas;
    std::sort(ascending.begin(), ascending.end());
    FailureLattice::Fatal fatal = lattice.none();
    std::int32_t next = 0;
    for (std::size_t first = 0; first < ascending.size(); first += index(best_.placement.slots)) {
      const std::int32_t nodes = std::min(ascending[first], lattice.nodes() - next);
      lattice.add(fatal, first_nodes(nodes) << next);
      next += nodes;
    }
    return lattice.survived(fatal);
  }
  [[nodiscard]] FailureLattice::Counts spread_survives(const FailureLattice& lattice) const {
    FailureLattice::Fatal fatal = lattice.none();
    std::int32_t next = 0;
    for (const std::int32_t replicas : layer_.replicas) {
      const std::uint32_t from = first_nodes(std::min(replicas, lattice.nodes())) << next;
      lattice.add(fatal, (from | from >> lattice.nodes()) & first_nodes(lattice.nodes()));
      next = (next + replicas) % lattice.nodes();
    }
    return lattice.survived(fatal);
  }
  static std::uint32_t first_nodes(std::int32_t count) { return (std::uint32_t{1} << count) - 1; }

  void keep_best() {
    if (loads_.busiest() >= least_ - 1e-12) return;
    least_ = loads_.busiest();
    best_.layer.replicas = layer_.replicas;
    best_.placement.expert_at = state_.expert_at();
  }

  const std::int32_t min_replicas_;
  const LatticeGoal& goal_;
  LayerDemand layer_;
  const std::size_t unit_;  // slots of a GPU
  SlotState state_;
  GpuLoads loads_;
  LayerOnGpus best_;
  double least_;
};

}  // namespace

LayerOnGpus swap_checked_slots(const LayerOnGpus& start, const LatticeGoal& goal, const Annealing& annealing,
                               RandomStream& random) {
  BalanceWalk walk(start, 1, goal);
  Cooling cooling(annealing);
  for (std::int64_t move = 0; move < annealing.moves; ++move, cooling.cool()) {
    if (random.below(6) == 0) {
      walk.try_roles(BalanceWalk::Roles::kOfAsManyReplicas, cooling, random);
    } else {
      walk.try_swaps(cooling, random);
    }
  }
  return std::move(walk).best();
}

LayerOnGpus shift_checked_slots(const LayerOnGpus& start, std::int32_t min_replicas, const LatticeGoal& goal,
                                const Annealing& annealing, RandomStream& random) {
  BalanceWalk walk(start, min_replicas, goal);
  Cooling cooling(annealing);
  for (std::int64_t move = 0; move < annealing.moves; ++move, cooling.cool()) {
    switch (random.below(6)) {
      case 0:
        walk.try_roles(BalanceWalk::Roles::kAny, cooling, random);
        break;
      case 1:
      case 2:
        walk.try_shift(cooling, random);
        break;
      default:
        walk.try_swaps(cooling, random);
    }
  }
  return std::move(walk).best();
}

}  // namespace goodput
