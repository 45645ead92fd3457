#include "models/placement/gpu_slots.h"

#include <algorithm>
#include <numeric>

#include "sim/base/errors.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

double max_over_mean(const std::vector<double>& loads) {
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  if (sum == 0) return 1;
  return *std::max_element(loads.begin(), loads.end()) * static_cast<double>(loads.size()) / sum;
}

// The slots of a node on its GPUs.
class NodeSplit {
 public:
  NodeSplit(std::span<const std::int32_t> experts, const LayerDemand& layer, std::int32_t gpus)
      : experts_(experts.begin(), experts.end()), slots_(experts.size() / index(gpus)), gpus_(index(gpus)) {
    std::stable_sort(experts_.begin(), experts_.end(), [&](std::int32_t a, std::int32_t b) {
      return layer.load_per_replica(a) > layer.load_per_replica(b);
    });
    for (const std::int32_t e : experts_) load_.push_back(layer.load_per_replica(e));
    deal();
    while (improve()) {
    }
  }

  // Rows of slots, experts of a GPU ascending.
  [[nodiscard]] std::vector<std::int32_t> rows() const {
    std::vector<std::int32_t> rows;
    for (const std::vector<std::size_t>& gpu : held_) {
      const auto begin = static_cast<std::ptrdiff_t>(rows.size());
      for (const std::size_t slot : gpu) rows.push_back(experts_[slot]);
      std::sort(rows.begin() + begin, rows.end());
    }
    return rows;
  }

 private:
  void deal() {
    held_.resize(gpus_);
    sum_.resize(gpus_);
    for (std::size_t slot = 0; slot < experts_.size(); ++slot) {
      std::size_t to = gpus_;
      for (std::size_t g = 0; g < gpus_; ++g) {
        if (held_[g].size() < slots_ && (to == gpus_ || sum_[g] < sum_[to])) to = g;
      }
      held_[to].push_back(slot);
      sum_[to] += load_[slot];
    }
  }

  // The swap with the busiest GPU that leaves the busier of the two least loaded; whether there was one that
  // gains. Every swap lowers the sum of squares, so this ends.
  bool improve() {
    const auto busiest = static_cast<std::size_t>(std::max_element(sum_.begin(), sum_.end()) - sum_.begin());
    const double gain_worth_it = 1e-9 * sum_[busiest];
    double best = sum_[busiest] - gain_worth_it;
    std::size_t other = gpus_;
    std::size_t* give = nullptr;
    std::size_t* take = nullptr;
    for (std::size_t g = 0; g < gpus_; ++g) {
      if (g == busiest) continue;
      for (std::size_t& mine : held_[busiest]) {
        for (std::size_t& theirs : held_[g]) {
          const double moved = load_[mine] - load_[theirs];
          const double busier = std::max(sum_[busiest] - moved, sum_[g] + moved);
          if (busier >= best) continue;
          best = busier;
          other = g;
          give = &mine;
          take = &theirs;
        }
      }
    }
    if (other == gpus_) return false;
    const double moved = load_[*give] - load_[*take];
    sum_[busiest] -= moved;
    sum_[other] += moved;
    std::swap(*give, *take);
    return true;
  }

  std::vector<std::int32_t> experts_;  // by slot, heaviest first
  std::size_t slots_;                  // of a GPU
  std::size_t gpus_;
  std::vector<double> load_{};                    // by slot
  std::vector<std::vector<std::size_t>> held_{};  // slots, by GPU
  std::vector<double> sum_{};                     // load, by GPU
};

}  // namespace

std::vector<double> node_loads(const ExpertPlacement& placement, const LayerDemand& layer) {
  std::vector<double> loads(index(placement.nodes));
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    for (const std::int32_t e : placement.node(n)) loads[index(n)] += layer.load_per_replica(e);
  }
  return loads;
}

ExpertPlacement split_over_gpus(const ExpertPlacement& placement, const LayerDemand& layer,
                                std::int32_t gpus_per_node) {
  GOODPUT_CHECK(gpus_per_node > 0 && placement.slots % gpus_per_node == 0,
                "all GPUs of a node must have the same number of slots");
  ExpertPlacement gpus{
      placement.experts, placement.nodes * gpus_per_node, placement.slots / gpus_per_node, {}};
  gpus.expert_at.reserve(placement.expert_at.size());
  for (std::int32_t n = 0; n < placement.nodes; ++n) {
    const std::vector<std::int32_t> rows = NodeSplit(placement.node(n), layer, gpus_per_node).rows();
    gpus.expert_at.insert(gpus.expert_at.end(), rows.begin(), rows.end());
  }
  return gpus;
}

ExpertPlacement in_order_of_gpus(const ExpertPlacement& placement, const LayerDemand& layer,
                                 std::int32_t gpus_per_node) {
  if (gpus_per_node == 1) return placement;
  ExpertPlacement ordered = placement;
  ordered.expert_at = split_over_gpus(placement, layer, gpus_per_node).expert_at;
  return ordered;
}

LoadImbalance load_imbalance(const ExpertPlacement& placement, const LayerDemand& layer,
                             std::int32_t gpus_per_node) {
  const double node = max_over_mean(node_loads(placement, layer));
  if (gpus_per_node == 1) return {node, node};
  return {node, max_over_mean(node_loads(split_over_gpus(placement, layer, gpus_per_node), layer))};
}

}  // namespace goodput
