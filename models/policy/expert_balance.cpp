#include "models/policy/expert_balance.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "models/placement/eplb_groups.h"
#include "models/placement/gpu_slots.h"
#include "models/placement/repeated_slots.h"
#include "models/placement_search/place_experts.h"

namespace goodput {
namespace {

// A row of slots a GPU becomes one a node, and the other way round: the slots of a node are in the order of
// its GPUs.
ExpertPlacement with_rows(ExpertPlacement placement, std::int32_t rows) {
  placement.slots = placement.slots * placement.nodes / rows;
  placement.nodes = rows;
  return placement;
}

std::vector<ExpertPlacement> by_node(const ExpertParallelGroup& group, std::int32_t gpus_together) {
  std::vector<ExpertPlacement> layers;
  for (const ExpertPlacement& layer : group.layers)
    layers.push_back(with_rows(layer, group.gpus / gpus_together));
  return layers;
}

std::string describe_repeated(const RepeatedSlots& repeated) {
  return fmt::format(
      "when training starts, {} of {} expert slots of a group repeat{} an expert that the same GPU already "
      "holds, which wastes memory; the first is expert {} on GPU {} in MoE layer {}",
      repeated.slots, repeated.of, repeated.slots == 1 ? "s" : "", repeated.expert, repeated.gpu,
      repeated.layer);
}

}  // namespace

std::int32_t ExpertBalance::gpus_together() const {
  return ExpertParallelGroup{rules_.gpus, rules_.redundant, {}}.gpus_together(
      job_->plan().cluster.gpus_per_node);
}

std::int64_t ExpertBalance::placed_at(std::int64_t step) const {
  const std::int64_t every = rules_.every_steps;
  return every == 0 ? 0 : step / every * every;
}

std::size_t ExpertBalance::window(std::int64_t step) const {
  return job_->routing().window_at(placed_at(step));
}

std::int64_t ExpertBalance::next(std::int64_t step) const {
  const std::int64_t every = rules_.every_steps;
  const std::int64_t change = job_->routing().window_end(placed_at(step));
  if (every == 0 || change > kNoStep - every) return kNoStep;
  return (change + every - 1) / every * every;
}

Result<ExpertParallelGroup> ExpertBalance::place(std::size_t window) const {
  const std::int32_t together = gpus_together();
  ExpertParallelGroup group{rules_.gpus, rules_.redundant, {}};
  const std::int32_t slots = group.slots_per_gpu(job_->plan().model.moe->experts) * together;
  const ExpertNodes nodes{rules_.gpus / together, slots, together};
  const PlacementChoice eplb{Allocation::kEplb, PlacementRule::kEplb, 1, {}, rules_.expert_groups};
  GOODPUT_TRY(const PlacedLayers placed, place_experts(job_->routing().loads(window), nodes, eplb));
  for (const PlacedLayer& layer : placed.layers)
    group.layers.push_back(with_rows(in_order_of_gpus(layer.placement, layer.layer, together), rules_.gpus));
  return group;
}

Status ExpertBalance::check() const {
  GOODPUT_TRY(const ExpertParallelGroup unused, place(0));
  static_cast<void>(unused);
  return Ok{};
}

Status ExpertBalance::check_groups() const {
  return check_expert_groups(rules_.expert_groups, job_->plan().model.moe->experts);
}

std::string ExpertBalance::idle_groups() const {
  const std::int32_t nodes = rules_.gpus / gpus_together();
  if (rules_.expert_groups == 1) return "";
  if (nodes == 1) return fmt::format("the {} GPUs of ep share a node", rules_.gpus);
  if (keeps_groups_on_nodes(rules_.expert_groups, nodes)) return "";
  return fmt::format("{} groups do not divide evenly among the {} nodes of ep {}", rules_.expert_groups,
                     nodes, rules_.gpus);
}

std::vector<std::string> ExpertBalance::warnings() const {
  std::vector<std::string> warnings;
  if (const std::string why = idle_groups(); !why.empty())
    warnings.push_back("expert_groups has no effect: " + why);
  const std::optional<RepeatedSlots> repeated = repeated_slots(at(0).layers);
  if (repeated) warnings.push_back(describe_repeated(*repeated));
  return warnings;
}

const ExpertParallelGroup& ExpertBalance::placed(std::size_t window) const {
  return placed_.at({static_cast<std::int64_t>(window)}, [&] {
    Result<ExpertParallelGroup> group = place(window);
    GOODPUT_CHECK(group.has_value(), group.error().message());
    return *std::move(group);
  });
}

SimDuration ExpertBalance::time_at(std::int64_t step) const {
  const std::size_t from = window(step - 1);
  const std::size_t to = window(step);
  return moves_.at({static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)}, [&] {
    const std::int32_t together = gpus_together();
    ClusterPlacement held{by_node(placed(from), together), {}};
    for (std::int32_t node = 0; node < rules_.gpus / together; ++node) held.node_ids.push_back(node);
    const Migration migration =
        migrate(held, held.node_ids, by_node(placed(to), together), MappingRule::kGreedy);
    const MigrationTime time = migration_time(migration, rules_.expert, rules_.timing);
    return migration.newly_assigned == 0 ? SimDuration{} : time.plan + time.transfer;
  });
}

}  // namespace goodput
