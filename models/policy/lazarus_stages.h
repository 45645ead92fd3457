// Which nodes hold the experts of each pipeline stage under Lazarus, and how they get from one placement to
// another when nodes are lost, join, or loads change.
#pragma once

#include <cstdint>
#include <vector>

#include "models/policy/lazarus_placements.h"
#include "sim/base/units.h"
#include "sim/nodes/membership.h"

namespace goodput {

// Nodes that hold the experts of a stage.
struct StageHolders {
  LazarusPlacements::PlacementId placement = 0;
  std::vector<NodeId> nodes{};  // by place of the placement
  std::vector<bool> is_left{};  // by place: whether its node still holds what it held
};

struct ExpertHolders {
  std::vector<StageHolders> stages{};

  [[nodiscard]] bool are_whole() const;
  void forget(NodeId node);
  [[nodiscard]] std::vector<NodeId> left() const;                 // ascending
  [[nodiscard]] std::vector<std::int32_t> left_by_stage() const;  // how many
};

// Everybody loads what the placement gives to its place: `nodes`, in that order, stage after stage.
[[nodiscard]] ExpertHolders load_all(const LazarusPlacements& placements, const std::vector<NodeId>& nodes,
                                     std::size_t window);

// Whether every expert is still held, and with it all other state of its stage.
[[nodiscard]] bool hold_every_expert(const LazarusPlacements& placements, const ExpertHolders& held);

struct StageMoves {
  bool are_possible = false;  // no stage has lost an expert with all its replicas
  ExpertHolders next{};
  std::int64_t experts = 0;  // transferred, over all stages
  SimDuration plan{};
  SimDuration transfer{};  // of the stage that takes longest: all transfer at the same time
};

// To `nodes` nodes and the loads of a window. A stage that has more nodes left than share_out() gives it
// keeps those whose experts fit best; the others of it, and those that `joined`, make up for what other
// stages lack, the lowest ids first, and fetch all state of their new stage. `joined` ascends. REQUIRES: left
// and joined nodes are at least `nodes`, and usable(nodes) == nodes.
[[nodiscard]] StageMoves move_stages(const LazarusPlacements& placements, const ExpertHolders& held,
                                     const std::vector<NodeId>& joined, std::int32_t nodes,
                                     std::size_t window);

}  // namespace goodput
