// Reconfiguration of MoE training after nodes died or joined (Lazarus, arXiv 2407.04656): which
// physical node takes which place in the new placement, which experts move, and how long training stands
// still.
//
// The old placement and the set of live nodes decide; what the dead held is gone, and who joined holds
// nothing. A node that died and is back has lost what it held: it needs a new id, unless there was a
// migration without it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/migration/node_experts.h"
#include "models/migration/node_mapping.h"
#include "models/placement/layer_classes.h"
#include "sim/base/units.h"
#include "sim/config/config.h"

namespace goodput {

// One expert's weights and optimizer states, from a node to another. Nodes are positions among the live ones.
struct ExpertTransfer {
  std::int32_t layer = 0;
  std::int32_t expert = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;

  friend auto operator<=>(const ExpertTransfer&, const ExpertTransfer&) = default;
};

// An expert that a node is to hold and no live node holds.
struct ExpertRestore {
  std::int32_t layer = 0;
  std::int32_t expert = 0;
  std::int32_t to = 0;

  friend auto operator<=>(const ExpertRestore&, const ExpertRestore&) = default;
};

// Which node sends which expert to which node, so that every node holds the experts that the new placement
// gives it. Both lists ascend; together they have as many entries as newly_assigned_experts() counts.
struct ExpertMoves {
  std::vector<ExpertTransfer> transfers{};
  std::vector<ExpertRestore> from_checkpoint{};  // not empty: this state cannot be had from the nodes alone
};

// `physical_of` says which node of `held` takes each place of the new placement. Every missing expert is
// fetched once, from a node that held it before. Requests with the fewest owners choose first (then by layer,
// expert, receiver), each the owner with the least to send so far, then the lowest: the busiest sender has
// little more than it must (docs/validation.md).
[[nodiscard]] ExpertMoves plan_transfers(const NodeExperts& held, const NodeExperts& plan,
                                         std::span<const std::int32_t> physical_of);

// The state besides the experts, to a node that has joined: every other node holds the same.
struct DenseTransfer {
  std::int32_t from = 0;
  std::int32_t to = 0;

  friend auto operator<=>(const DenseTransfer&, const DenseTransfer&) = default;
};

// What a node sends and receives: experts, and dense states.
struct NodeTraffic {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t dense_sent = 0;
  std::int64_t dense_received = 0;

  friend bool operator==(const NodeTraffic&, const NodeTraffic&) = default;
};
[[nodiscard]] std::vector<NodeTraffic> node_traffic(std::span<const ExpertTransfer> transfers,
                                                    std::int32_t nodes);

// From the nodes that held something before (`is_survivor`, by node) to the others among `placed_nodes`, in
// their order. Survivors take turns: first those with the fewest experts to send, then the lowest. Adds to
// `traffic`, which has the experts of every node. Empty without survivors.
[[nodiscard]] std::vector<DenseTransfer> plan_dense_transfers(const std::vector<bool>& is_survivor,
                                                              std::span<const std::int32_t> placed_nodes,
                                                              std::vector<NodeTraffic>& traffic);

struct Migration {
  ClusterPlacement placed{};             // afterwards: the new placement, its nodes named
  ExpertMoves moves{};                   // nodes are ids
  std::vector<DenseTransfer> dense{};    // likewise
  std::vector<NodeTraffic> traffic{};    // by live node
  std::int64_t newly_assigned = 0;       // experts: transferred or restored
  std::vector<std::int32_t> idle_ids{};  // live nodes for which the new placement has no place
};

// `live_ids`: all nodes that can be used, ascending; those not in placed.node_ids have joined. `plan`: every
// layer on the same, at most live_ids.size(), nodes without names. The result depends on ids by their order
// only.
[[nodiscard]] Migration migrate(const ClusterPlacement& placed, std::span<const std::int32_t> live_ids,
                                std::vector<ExpertPlacement> plan, MappingRule rule);

// The same with one placement for each class of layers, in `placed`, `plan` and the result; moves are of all
// layers.
[[nodiscard]] Migration migrate(const ClusterPlacement& placed, std::span<const std::int32_t> live_ids,
                                std::vector<ExpertPlacement> plan, MappingRule rule,
                                const LayerClasses& classes);

// What a reconfiguration takes, by Lazarus (arXiv 2407.04656); the last two are read off its Table 2.
struct MigrationTiming {
  SimDuration detect = from_seconds(15);         // failures show as NCCL time-outs, 10 to 20 s: the middle
  SimDuration regroup = from_seconds(10);        // new process groups take 5 to 15 s: the middle
  SimDuration plan = from_seconds(0.1);          // a plan is ready in less than 100 ms
  SimDuration transfer_setup = from_seconds(2);  // what 11 experts take, however small
  BytesPerSecond node{0.7e9};                    // that a node sends, and receives: 0.5 to 1 GB/s
};
[[nodiscard]] config::Fields config_fields(MigrationTiming& timing);

struct MigrationTime {
  SimDuration detect{};
  SimDuration regroup{};
  SimDuration plan{};
  SimDuration transfer{};

  [[nodiscard]] SimDuration total() const { return detect + regroup + plan + transfer; }
};

// The transfer ends when the busiest node has sent, or received, its last byte: links are full duplex, the
// network between them is no limit. Nothing moves, nothing is set up. `dense`: bytes that a node which joins
// fetches besides its experts; 0: these are not counted.
// REQUIRES: migration.moves.from_checkpoint.empty(): restarting from a checkpoint is no migration.
[[nodiscard]] MigrationTime migration_time(const Migration& migration, Bytes expert,
                                           const MigrationTiming& timing, Bytes dense = {});

}  // namespace goodput
