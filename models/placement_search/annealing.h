// Simulated annealing over the slots of a placement: the state, its moves and the cooling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/placement/expert_placement.h"
#include "models/placement/node_sets.h"
#include "sim/base/random.h"

namespace goodput {

struct Annealing {
  std::int64_t moves = 0;
  double from = 0;  // temperatures, in the unit of what is sought
  double to = 0;
};

// Lowers the temperature from move to move in a constant ratio, and says what worsening it lets pass.
class Cooling {
 public:
  explicit Cooling(const Annealing& annealing);
  void cool() { temperature_ *= ratio_; }
  [[nodiscard]] bool accepts(double worse_by, RandomStream& random) const;

 private:
  double temperature_;
  double ratio_;
};

// A placement whose slots change, with the nodes of each expert kept up to date.
class SlotState {
 public:
  explicit SlotState(const ExpertPlacement& start);

  [[nodiscard]] std::size_t slots() const { return placement_.expert_at.size(); }
  [[nodiscard]] std::int32_t experts() const { return placement_.experts; }
  [[nodiscard]] std::size_t slots_of_node() const { return static_cast<std::size_t>(placement_.slots); }
  [[nodiscard]] std::int32_t expert(std::size_t slot) const { return placement_.expert_at[slot]; }
  [[nodiscard]] std::int32_t node_of(std::size_t slot) const {
    return static_cast<std::int32_t>(slot / static_cast<std::size_t>(placement_.slots));
  }
  [[nodiscard]] const NodeSets& nodes_of_experts() const { return sets_; }
  [[nodiscard]] const std::vector<std::int32_t>& expert_at() const { return placement_.expert_at; }

  // Of the node's slots with the expert, the first. REQUIRES: the node holds it.
  [[nodiscard]] std::size_t slot_of(std::int32_t expert, std::int32_t node) const;

  void swap(std::size_t a, std::size_t b);
  void replace(std::size_t slot, std::int32_t by_expert);

 private:
  std::int32_t& held(std::int32_t expert, std::int32_t node);
  void put(std::int32_t expert, std::int32_t node);
  void take(std::int32_t expert, std::int32_t node);

  ExpertPlacement placement_;
  NodeSets sets_;
  std::vector<std::int32_t> held_;  // replicas, experts x nodes
};

struct SlotSwap {
  std::size_t a;
  std::size_t b;
};

// Two slots of different experts, not both in the same run of `unit` slots: those of a node, or of one of its
// GPUs. None when the draw is not such a pair.
[[nodiscard]] std::optional<SlotSwap> draw_swap(const SlotState& state, std::size_t unit,
                                                RandomStream& random);

// Two experts change places on several nodes at once: one moves from some nodes that hold it alone to as many
// that hold only the other. None when there are no such nodes.
[[nodiscard]] std::vector<SlotSwap> draw_exchange(const SlotState& state, RandomStream& random);

// `like`, with these experts in its slots; experts of a node sorted.
[[nodiscard]] ExpertPlacement with_slots(const ExpertPlacement& like, std::vector<std::int32_t> expert_at);

}  // namespace goodput
