#include "models/job/job_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/job/placed_load.h"
#include "models/job/stage_layers.h"
#include "models/routing/job_routing.h"
#include "models/schedule/schedule.h"
#include "models/step/block_prices.h"
#include "models/step/block_work.h"
#include "models/step/gpu_parameters.h"
#include "models/step/planned_step.h"
#include "models/step/step_costs.h"
#include "models/step/step_frame.h"
#include "models/step/step_layout.h"
#include "sim/base/index.h"
#include "sim/base/text.h"
#include "sim/engine/timing.h"

namespace goodput {
namespace {

using Loads = std::span<const std::vector<std::int64_t>>;

// All kernels at a fraction of the GPU's speed.
class SlowedKernels final : public CostModel {
 public:
  SlowedKernels(const CostModel& cost, double speed) : cost_(cost), speed_(speed) {}

  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override {
    const Cost cost = cost_.kernels(sequence);
    return {cost.seconds / speed_, cost.tier};
  }
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override { return cost_.collective(call); }
  [[nodiscard]] std::optional<Cost> dispatch_schedule(std::int32_t ranks,
                                                      std::int32_t experts) const override {
    std::optional<Cost> cost = cost_.dispatch_schedule(ranks, experts);
    if (cost) cost->seconds /= speed_;
    return cost;
  }

 private:
  const CostModel& cost_;
  double speed_;
};

Error wrong_plan(const TrainingPlan& plan, std::string_view field, std::string what) {
  return plan.error(field, std::move(what));
}

Status check_experts(const TrainingPlan& plan) {
  if (plan.model.moe) return Ok{};
  return wrong_plan(plan, "/model", "has no experts; choose a model with experts");
}

std::int64_t gpus_of_stage(const ParallelPlan& plan) {  // of one replica
  return std::int64_t{plan.tp} * plan.cp;
}
std::int64_t gpus_of_replica(const ParallelPlan& plan) {
  return plan.pp * gpus_of_stage(plan);
}

std::int64_t ranks_of_stage(const ParallelPlan& plan) {
  return std::int64_t{plan.dp} * plan.cp * plan.tp;
}

std::int64_t round_up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit * unit;
}

// Nodes that whole groups of `ep` GPUs, one on every stage, and whole replicas fill, at the least.
std::int64_t nodes_of_group(const TrainingPlan& plan, std::int32_t ep) {
  const ParallelPlan& parallel = plan.parallel;
  const std::int64_t together =
      parallel.pp * std::lcm(std::int64_t{ep}, std::int64_t{parallel.tp} * parallel.cp);
  return std::lcm(together, std::int64_t{plan.cluster.gpus_per_node}) / plan.cluster.gpus_per_node;
}

std::int32_t nodes_of_replicas(const TrainingPlan& plan, std::int64_t replicas) {
  const std::int64_t gpus = replicas * gpus_of_replica(plan.parallel);
  return static_cast<std::int32_t>(round_up(gpus, plan.cluster.gpus_per_node) / plan.cluster.gpus_per_node);
}

void set_nodes(TrainingPlan& plan, std::int32_t nodes) {
  plan.cluster.nodes = std::max(plan.cluster.nodes, nodes);
}

// Tokens of a micro-batch of all replicas, each counted once an expert it goes to.
std::int64_t routed_tokens(const TrainingPlan& plan) {
  const ParallelPlan& parallel = plan.parallel;
  return std::int64_t{parallel.dp} * parallel.micro_batch * parallel.sequence_length * plan.model.moe->top_k;
}

// With what the MoE layers get, spread over all layers of the model; those of multi-token prediction do as
// the last one.
StepRouting spread_over_layers(const ModelShape& model, const std::vector<ExpertShare>& of_moe_layers) {
  StepRouting routing;
  std::size_t next = 0;
  for (std::int32_t layer = 0; layer < model.layers + model.mtp_layers; ++layer) {
    routing.shares.emplace_back();
    if (!model.is_moe_layer(std::min(layer, model.layers - 1))) continue;
    routing.shares.back() = {of_moe_layers[std::min(next++, of_moe_layers.size() - 1)]};
  }
  return routing;
}

Status check_placements(const TrainingPlan& plan, std::span<const ExpertPlacement> placements,
                        const LayerClasses& classes, std::int32_t layers) {
  GOODPUT_CHECK(placements.size() == classes.classes(),
                "every group of layers that share a placement needs a placement");
  if (placements.empty() || classes.layers() != index(layers)) {
    return Error{fmt::format("placements: are for {} layers, but the model has {} layers with experts",
                             classes.layers(), layers)};
  }
  for (const ExpertPlacement& placement : placements) {
    const ExpertPlacement& first = placements.front();
    if (placement.nodes != first.nodes || placement.slots != first.slots) {
      return Error{
          fmt::format("placements: have {} nodes x {} slots in one layer, but {} nodes x {} slots in another",
                      first.nodes, first.slots, placement.nodes, placement.slots)};
    }
    if (placement.experts != plan.model.moe->experts) {
      return Error{fmt::format("placements: are for {} experts, but the model has {}", placement.experts,
                               plan.model.moe->experts)};
    }
  }
  return Ok{};
}

struct TimedStep {
  SimDuration step{};
  SimDuration passes{};  // until the last one ends
  Tier tier = Tier::kModel;
};

SimDuration whole_ns(double nanoseconds) {
  return SimDuration{static_cast<std::int64_t>(nanoseconds)};
}

Result<TimedStep> time_ops(const TrainingPlan& plan, const CostModel& cost, const StepRouting& routing,
                           Granularity granularity) {
  GOODPUT_TRY(const PlannedStep step, build_planned_step(plan, cost, granularity, routing));
  std::vector<OpId> passes;
  for (OpId op = 0; op < step.ops.size(); ++op) {
    if (is_pass(step.ops[op].op.type)) passes.push_back(op);
  }
  TimingEngine timing(step.graph, step.lanes, passes, TimingEngine::Keep::kStepTimes);
  timing.propagate(PlannedValues(step));
  return TimedStep{whole_ns(timing.spans().front()), whole_ns(timing.finish_times().front()), step.tier};
}

// The same where passes run in turn layer by layer: no graph of layers, which is large, unless ranks differ.
Result<TimedStep> time_pairs(const TrainingPlan& plan, const PipelineSchedule& schedule,
                             const StepLayout& layout, const CostModel& cost, const StepRouting& routing) {
  const BlockPrices prices(plan, cost, routing, Granularity::kLayers);
  if (prices.ranks() > 1) return time_ops(plan, cost, routing, Granularity::kLayers);
  const StepCosts costs = compute_step_costs(plan, schedule, cost, routing, prices);
  const ScheduleShape shape = schedule_shape(plan.parallel);
  GOODPUT_TRY(const StepFrame frame,
              StepFrame::build(schedule, shape, step_features(plan, schedule), layout));
  if (costs.priced_s <= kLongestStepS) {
    const std::vector<double> values = layout.values(costs);
    const double total = frame.total(values);
    if (total > 0 && total <= 1e9 * kLongestStepS)
      return TimedStep{frame.step_times({&values, 1}).front(), frame.end_of_passes(values), costs.tier};
  }
  return time_ops(plan, cost, routing, Granularity::kOps);  // which says what is wrong
}

Result<TimedStep> time_step(const TrainingPlan& plan, const CostModel& cost, const StepRouting& routing) {
  const Result<const PipelineSchedule*> schedule = find_schedule(plan.parallel.schedule);
  const ScheduleShape shape = schedule_shape(plan.parallel);
  if (schedule && (*schedule)->check(shape)) {
    const StepLayout layout(**schedule, shape);
    if (layout.has_pairs()) return time_pairs(plan, **schedule, layout, cost, routing);
  }
  return time_ops(plan, cost, routing, Granularity::kOps);
}

Result<MemoryReport> memory_of(const TrainingPlan& plan, ExpertSlots slots) {
  GOODPUT_TRY(const PipelineSchedule* const schedule, find_schedule(plan.parallel.schedule));
  return estimate_memory(plan, *schedule, slots);
}

}  // namespace

std::int32_t MoeStepModel::moe_layers() const {
  std::int32_t layers = 0;
  for (std::int32_t layer = 0; layer < base_.model.layers; ++layer) {
    layers += base_.model.is_moe_layer(layer) ? 1 : 0;
  }
  return layers;
}

std::int32_t MoeStepModel::whole_nodes(std::int32_t nodes, std::int32_t ep) const {
  const std::int64_t unit = nodes_of_group(base_, ep);
  return static_cast<std::int32_t>(nodes / unit * unit);
}

std::int32_t MoeStepModel::usable_nodes(std::int32_t nodes, std::int32_t ep) const {
  return fewest_nodes(whole_nodes(nodes, ep), nodes_of_group(base_, ep), gpus_of_replica(base_.parallel));
}

std::int32_t MoeStepModel::fewest_nodes(std::int32_t nodes, std::int64_t unit, std::int64_t gpus_each) const {
  const std::int64_t per_node = base_.cluster.gpus_per_node;
  const std::int64_t replicas = nodes * per_node / gpus_each;
  if (replicas < least_replicas_) return 0;
  const std::int64_t gpus = batch_.fewest_replicas(replicas) * gpus_each;
  return static_cast<std::int32_t>(round_up(gpus, unit * per_node) / per_node);
}

std::int32_t MoeStepModel::stage_unit() const {
  const std::int64_t per_node = base_.cluster.gpus_per_node;
  return static_cast<std::int32_t>(std::lcm(gpus_of_stage(base_.parallel), per_node) / per_node);
}

std::int32_t MoeStepModel::usable_stage_nodes(std::int32_t nodes) const {
  const std::int32_t unit = stage_unit();
  return fewest_nodes(nodes / unit * unit, unit, gpus_of_stage(base_.parallel));
}

Error MoeStepModel::too_large_batch(std::int32_t nodes) const {
  return Error{
      fmt::format("on {} nodes, the batch of {} samples needs more micro-batches per step than goodput can "
                  "simulate; use at least {} replicas",
                  nodes, base_.parallel.global_batch, least_replicas_)};
}

std::int64_t MoeStepModel::whole_replicas(std::int32_t nodes) const {
  const std::int64_t fit =
      std::int64_t{nodes} * base_.cluster.gpus_per_node / gpus_of_replica(base_.parallel);
  const std::int64_t together = replicas_together(base_.parallel);
  return fit / together * together;
}

std::int64_t MoeStepModel::used_replicas(std::int32_t nodes) const {
  const std::int64_t whole = whole_replicas(nodes);
  if (whole < least_replicas_) return 0;
  return round_up(batch_.fewest_replicas(whole), replicas_together(base_.parallel));
}

std::int32_t MoeStepModel::whole_nodes(std::int32_t nodes) const {
  return nodes_of_replicas(base_, whole_replicas(nodes));
}

std::int32_t MoeStepModel::usable_nodes(std::int32_t nodes) const {
  return nodes_of_replicas(base_, used_replicas(nodes));
}

std::int64_t MoeStepModel::least_replicas() const {
  if (batch_.rule() == BatchRule::kPerReplica) return 1;
  std::int64_t too_few = 0;
  std::int64_t enough = base_.parallel.dp;  // the plan's own step can be simulated
  while (too_few + 1 < enough) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (check_step_size(with_replicas(middle)) ? enough : too_few) = middle;
  }
  return enough;
}

TrainingPlan MoeStepModel::with_replicas(std::int64_t replicas) const {
  TrainingPlan plan = base_;
  plan.parallel.dp = static_cast<std::int32_t>(replicas);
  plan.parallel.zero_instances = instances_for(base_.parallel, replicas, replicas_together(base_.parallel));
  plan.parallel.global_batch = replicas * plan.parallel.micro_batch * batch_.micro_batches(replicas);
  return plan;
}

TrainingPlan MoeStepModel::on_nodes(std::int32_t nodes) const {
  TrainingPlan plan =
      with_replicas(std::int64_t{nodes} * base_.cluster.gpus_per_node / gpus_of_replica(base_.parallel));
  set_nodes(plan, nodes);
  return plan;
}

Result<MoeStepModel::SlotPlan> MoeStepModel::expert_parallel_plan(std::int32_t nodes,
                                                                  const ExpertParallelGroup& group) const {
  const std::int32_t ep = group.gpus;
  GOODPUT_TRY_STATUS(check_experts(base_));
  if (ep < 1 || base_.model.moe->experts % ep != 0) {
    return wrong_plan(
        base_, "/parallel/ep",
        fmt::format("is {}, which does not divide the {} experts", ep, base_.model.moe->experts));
  }
  const std::int32_t used = usable_nodes(nodes, ep);
  if (used == 0 && whole_nodes(nodes, ep) > 0) return too_large_batch(nodes);
  if (used == 0) {
    return Error{fmt::format("{} nodes of {} GPUs cannot hold one expert-parallel group of {} GPUs", nodes,
                             base_.cluster.gpus_per_node, ep)};
  }
  const bool keeps_groups = group.keeps_routing_groups(*base_.model.moe, base_.cluster.gpus_per_node);
  SlotPlan placed{on_nodes(used), {group.slots_per_gpu(base_.model.moe->experts), !keeps_groups}};
  placed.plan.expert_load = {};  // loads are given
  ParallelPlan& parallel = placed.plan.parallel;
  parallel.ep = ep;
  const std::int64_t peers = std::int64_t{parallel.cp} * parallel.tp;
  parallel.zero_instances =
      instances_for(base_.parallel, parallel.dp, std::lcm(std::int64_t{ep}, peers) / peers);
  GOODPUT_TRY_STATUS(check_training_plan(placed.plan, placed.slots));
  return placed;
}

Status check_flexible(const ParallelPlan& plan) {
  const auto wrong = [](std::string_view key, std::string what) {
    return Error{std::move(what), {.pointer = fmt::format("/parallel/{}", key)}};
  };
  if (!keeps_one_copy(plan)) {
    return wrong("schedule",
                 fmt::format("is {}, which keeps each layer on two stages, but the experts of a layer are "
                             "placed on the nodes of one; use another, such as zb-h1",
                             in_quotes(plan.schedule)));
  }
  if (plan.zero == 3)
    return wrong("zero", "must be at most 2, not 3, because experts have different numbers of replicas");
  if (plan.sharding_instances() == 1) return Ok{};
  return wrong("zero_instances",
               fmt::format("must be 1, not {}, because experts have different numbers of replicas",
                           plan.zero_instances));
}

Status MoeStepModel::check_flexible() const {
  GOODPUT_TRY_STATUS(check_experts(base_));
  const Status checked = goodput::check_flexible(base_.parallel);
  if (checked) return Ok{};
  return wrong_plan(base_, checked.error().where.pointer, checked.error().what);
}

Result<MoeStepModel::SlotPlan> MoeStepModel::flexible_plan(std::int32_t nodes,
                                                           std::int32_t slots_per_node) const {
  GOODPUT_TRY_STATUS(check_flexible());
  const std::int32_t gpus = base_.cluster.gpus_per_node;
  if (slots_per_node < 1 || slots_per_node % gpus != 0) {
    return Error{fmt::format("placements: {} slots per node do not divide evenly among the {} GPUs of a node",
                             slots_per_node, gpus)};
  }
  const std::int64_t of_stage = gpus_of_stage(base_.parallel);
  if (nodes < 1 || std::int64_t{nodes} * gpus % of_stage != 0) {
    return Error{fmt::format("{} nodes of {} GPUs do not hold a whole number of replicas of {} GPUs", nodes,
                             gpus, of_stage)};
  }
  SlotPlan placed{on_nodes(nodes * base_.parallel.pp), {slots_per_node / gpus, true}};
  placed.plan.expert_load = {};  // loads are given
  placed.plan.parallel.ep = nodes * gpus;
  GOODPUT_TRY_STATUS(check_training_plan(placed.plan, placed.slots));
  return placed;
}

Status MoeStepModel::check_loads(Loads loads) const {
  if (loads.size() != index(moe_layers())) {
    return Error{fmt::format("loads: are for {} layers, but the model has {} layers with experts",
                             loads.size(), moe_layers())};
  }
  for (const std::vector<std::int64_t>& layer : loads) {
    if (layer.size() == index(base_.model.moe->experts)) continue;
    return Error{fmt::format("loads: are for {} experts, but the model has {}", layer.size(),
                             base_.model.moe->experts)};
  }
  return Ok{};
}

Result<StepTime> MoeStepModel::time(const TrainingPlan& plan, const StepRouting& routing,
                                    const StepSettings& settings) const {
  GOODPUT_CHECK(settings.slowest_speed > 0 && settings.moe_speedup > 0, "speeds must be positive");
  const SlowedKernels cost(cost_, settings.slowest_speed);
  GOODPUT_TRY(const TimedStep timed, time_step(plan, cost, routing));
  return StepTime{.step = timed.step + settings.step_overhead,
                  .forward_backward = timed.passes,
                  .samples = batch_.samples(plan.parallel.dp),
                  .tier = timed.tier};
}

Result<std::vector<ExpertShare>> MoeStepModel::group_shares(const SlotPlan& placed,
                                                            const ExpertParallelGroup& group, Loads loads,
                                                            ExpertDispatch dispatch) const {
  const auto& [plan, slots] = placed;
  const std::int64_t ranks = ranks_of_stage(plan.parallel);
  const double mean = BlockScope{plan.model, plan.parallel, slots}.routed_tokens();
  const bool is_padded = dispatch == ExpertDispatch::kPadded;
  const std::int64_t of_all = routed_tokens(plan);
  const ExpertTokens tokens = scaled_loads(loads, is_padded ? of_all : of_all * group.gpus / ranks);
  const std::int32_t together = group.gpus_together(plan.cluster.gpus_per_node);
  GOODPUT_TRY(const std::vector<moe::ExpertHosts> hosts, group.hosts(plan.model.moe->experts));
  std::vector<ExpertShare> shares;
  for (std::size_t layer = 0; layer < tokens.size(); ++layer) {
    const moe::ExpertHosts& here = hosts[std::min(layer, hosts.size() - 1)];
    if (is_padded) {
      shares.push_back(padded_share(here, tokens[layer], ranks, mean));
    } else {
      GOODPUT_TRY(const std::vector<GpuLoad> busy, placed_loads(here, together, tokens[layer]));
      shares.push_back(busiest_share(busy, together, mean));
    }
  }
  return shares;
}

Result<StepTime> MoeStepModel::expert_parallel(std::int32_t nodes, const ExpertParallelGroup& group,
                                               Loads loads, const StepSettings& settings) const {
  GOODPUT_TRY(const SlotPlan placed, expert_parallel_plan(nodes, group));
  const auto& [plan, slots] = placed;
  GOODPUT_TRY_STATUS(check_loads(loads));
  GOODPUT_TRY(const std::vector<ExpertShare> shares, group_shares(placed, group, loads, settings.dispatch));
  StepRouting routing = spread_over_layers(plan.model, shares);
  routing.slots = slots;
  routing.moe_speedup = settings.moe_speedup;
  if (group.redundant > 0) {
    GOODPUT_TRY(routing.replicas,
                replicas_of_groups(group, plan.model.moe->experts, ranks_of_stage(plan.parallel) / group.gpus,
                                   plan.cluster.gpus_per_node, expert_layers_by_position(plan)));
  }
  return time(plan, routing, settings);
}

Result<StepTime> MoeStepModel::flexible(std::span<const ExpertPlacement> placements, Loads loads,
                                        const StepSettings& settings) const {
  return flexible(placements, LayerClasses::distinct(placements.size()), loads, settings);
}

Result<StepTime> MoeStepModel::flexible(std::span<const ExpertPlacement> placements,
                                        const LayerClasses& classes, Loads loads,
                                        const StepSettings& settings) const {
  GOODPUT_TRY_STATUS(check_flexible());
  GOODPUT_TRY_STATUS(check_loads(loads));
  GOODPUT_TRY_STATUS(check_placements(base_, placements, classes, moe_layers()));
  GOODPUT_TRY(const SlotPlan placed, flexible_plan(placements.front().nodes, placements.front().slots));
  const auto& [plan, slots] = placed;
  const std::int32_t gpus = plan.cluster.gpus_per_node;
  const double mean = BlockScope{plan.model, plan.parallel, slots}.routed_tokens();
  const ExpertTokens tokens = scaled_loads(classes.one_of_each(loads), routed_tokens(plan));
  const RankSpread even;
  std::vector<ExpertShare> of_classes;
  std::vector<moe::ExpertHosts> hosts;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    GOODPUT_TRY(moe::ExpertHosts of_class, hosts_of(placements[i], gpus));
    // Layers of a class route alike on every rank: as the first of them.
    const auto layer = std::find(classes.by_layer().begin(), classes.by_layer().end(), i);
    GOODPUT_TRY(const std::vector<GpuLoad> busy,
                placed_loads(of_class, gpus, tokens[i], ranks_ == nullptr ? even : *ranks_,
                             static_cast<std::size_t>(layer - classes.by_layer().begin())));
    of_classes.push_back(busiest_share(busy, gpus, mean));
    hosts.push_back(std::move(of_class));
  }
  std::vector<ExpertShare> shares;
  for (const std::size_t of_class : classes.by_layer()) shares.push_back(of_classes[of_class]);
  StepRouting routing = spread_over_layers(plan.model, shares);
  routing.slots = slots;
  for (std::vector<std::size_t>& here : expert_layers_by_position(plan)) {
    for (std::size_t& layer : here) layer = classes.of(layer);
    routing.replicas.push_back(busiest_replicas(hosts, here, gpus));
  }
  routing.computes_schedules = true;
  routing.moe_speedup = settings.moe_speedup;
  return time(plan, routing, settings);
}

Result<std::int64_t> MoeStepModel::dense_replicas(std::int32_t nodes) const {
  const std::int64_t replicas = used_replicas(nodes);
  if (replicas > 0) return replicas;
  if (whole_replicas(nodes) > 0) return too_large_batch(nodes);
  return Error{fmt::format("{} nodes of {} GPUs cannot hold one replica of {} GPUs", nodes,
                           base_.cluster.gpus_per_node,
                           gpus_of_replica(base_.parallel) * replicas_together(base_.parallel))};
}

Result<StepTime> MoeStepModel::dense(std::int32_t nodes, const StepSettings& settings) const {
  GOODPUT_TRY(const std::int64_t replicas, dense_replicas(nodes));
  GOODPUT_TRY(StepTime step, planned(with_replicas(replicas).parallel, settings));
  step.samples = batch_.samples(replicas);
  return step;
}

TrainingPlan MoeStepModel::cut_up(const ParallelPlan& parallel) const {
  TrainingPlan plan = base_;
  plan.parallel = parallel;
  const std::int64_t gpus = plan.cluster.gpus_per_node;
  set_nodes(plan, static_cast<std::int32_t>((parallel.gpus() + gpus - 1) / gpus));
  return plan;
}

Status MoeStepModel::check_planned(const ParallelPlan& parallel) const {
  return check_training_plan(cut_up(parallel));
}

Result<StepTime> MoeStepModel::planned(const ParallelPlan& parallel, const StepSettings& settings) const {
  const TrainingPlan plan = cut_up(parallel);
  GOODPUT_TRY_STATUS(check_training_plan(plan));
  StepRouting routing = drawn_routing(plan, 0);
  routing.moe_speedup = settings.moe_speedup;
  GOODPUT_TRY(StepTime step, time(plan, routing, settings));
  step.samples = parallel.global_batch;
  return step;
}

Result<MemoryReport> MoeStepModel::planned_memory(const ParallelPlan& parallel) const {
  const TrainingPlan plan = cut_up(parallel);
  GOODPUT_TRY_STATUS(check_training_plan(plan));
  return memory_of(plan, {});
}

Result<MemoryReport> MoeStepModel::dense_memory(std::int32_t nodes) const {
  GOODPUT_TRY(const std::int64_t replicas, dense_replicas(nodes));
  return planned_memory(with_replicas(replicas).parallel);
}

Result<MemoryReport> MoeStepModel::expert_parallel_memory(std::int32_t nodes,
                                                          const ExpertParallelGroup& group) const {
  GOODPUT_TRY(const SlotPlan placed, expert_parallel_plan(nodes, group));
  return memory_of(placed.plan, placed.slots);
}

Result<MemoryReport> MoeStepModel::flexible_memory(std::int32_t nodes, std::int32_t slots_per_node) const {
  GOODPUT_TRY(const SlotPlan placed, flexible_plan(nodes, slots_per_node));
  return memory_of(placed.plan, placed.slots);
}

}  // namespace goodput
