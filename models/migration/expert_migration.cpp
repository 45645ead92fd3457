#include "models/migration/expert_migration.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr double kMostSeconds = 3600;

void name_nodes(ExpertMoves& plan, std::span<const std::int32_t> ids) {
  const auto id_of = [ids](std::int32_t node) { return ids[static_cast<std::size_t>(node)]; };
  for (ExpertTransfer& transfer : plan.transfers) {
    transfer.from = id_of(transfer.from);
    transfer.to = id_of(transfer.to);
  }
  for (ExpertRestore& restore : plan.from_checkpoint) restore.to = id_of(restore.to);
}

std::vector<std::int32_t> ids_left_over(std::span<const std::int32_t> live, std::vector<std::int32_t> used) {
  std::vector<std::int32_t> idle;
  std::ranges::sort(used);
  std::ranges::set_difference(live, used, std::back_inserter(idle));
  return idle;
}

bool ascend_strictly(std::span<const std::int32_t> ids) {
  return std::ranges::adjacent_find(ids, std::ranges::greater_equal()) == ids.end();
}

}  // namespace

Migration migrate(const ClusterPlacement& placed, std::span<const std::int32_t> live_ids,
                  std::vector<ExpertPlacement> plan, MappingRule rule) {
  const LayerClasses distinct = LayerClasses::distinct(plan.size());
  return migrate(placed, live_ids, std::move(plan), rule, distinct);
}

Migration migrate(const ClusterPlacement& placed, std::span<const std::int32_t> live_ids,
                  std::vector<ExpertPlacement> plan, MappingRule rule, const LayerClasses& classes) {
  GOODPUT_CHECK(ascend_strictly(live_ids), "ids of live nodes ascend");
  const NodeExperts held(placed, live_ids, classes);
  const NodeExperts wanted(plan, classes);
  const NodeMapping mapping = map_nodes(held, wanted, rule);

  Migration migration;
  migration.newly_assigned = mapping.cost;
  migration.moves = plan_transfers(held, wanted, mapping.physical_of);
  GOODPUT_CHECK(migration.moves.transfers.size() + migration.moves.from_checkpoint.size() ==
                    static_cast<std::size_t>(mapping.cost),
                "every newly assigned expert comes from somewhere");
  migration.peaks = transfer_peaks(migration.moves.transfers, held.nodes());
  name_nodes(migration.moves, live_ids);
  migration.placed.layers = std::move(plan);
  for (const std::int32_t physical : mapping.physical_of) {
    migration.placed.node_ids.push_back(live_ids[static_cast<std::size_t>(physical)]);
  }
  migration.idle_ids = ids_left_over(live_ids, migration.placed.node_ids);
  return migration;
}

config::Fields config_fields(MigrationTiming& timing) {
  using config::Need;
  const auto seconds = [](SimDuration& value) {
    return config::number(value, config::between(0, kMostSeconds), from_seconds(1));
  };
  return {
      {"detect_s", Need::kOptional, seconds(timing.detect), "from a failure to its detection"},
      {"regroup_s", Need::kOptional, seconds(timing.regroup), "until those alive are process groups"},
      {"plan_s", Need::kOptional, seconds(timing.plan), "computing the new plan"},
      {"transfer_setup_s", Need::kOptional, seconds(timing.transfer_setup), "of moving experts, however few"},
      {"node_gb_per_s", Need::kOptional, config::number(timing.node, config::between(1e-3, 1e12), 1e9),
       "that a node sends, and receives, of experts"}};
}

MigrationTime migration_time(const Migration& migration, Bytes expert, const MigrationTiming& timing) {
  GOODPUT_CHECK(migration.moves.from_checkpoint.empty(), "all experts survived");
  MigrationTime time{timing.detect, timing.regroup, timing.plan, {}};
  if (migration.moves.transfers.empty()) return time;
  const Bytes busiest = expert * std::max(migration.peaks.sent, migration.peaks.received);
  time.transfer = timing.transfer_setup + busiest / timing.node;
  return time;
}

}  // namespace goodput
