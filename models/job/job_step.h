// How long a training step of a mixture of experts takes on whatever nodes a job has left: from the operation
// graph of the plan on these nodes (models/step/planned_step.h), with the tokens its experts really get.
//
//   expert_parallel   DeepSpeed-MoE, Megatron and their like: groups of GPUs share out the experts, which are
//                     dispatched to as models/job/expert_parallel_group.h says. The busiest GPU of a group
//                     sets the pace.
//   flexible          Lazarus: any expert anywhere on the nodes of its pipeline stage, as often as a
//                     placement says. The busiest GPU of the dispatch sets the pace of the experts, the one
//                     that sends or receives most between nodes that of the all-to-alls, and the one with
//                     most replicas to agree with that of the reduction of expert gradients.
//   dense, planned    the plan's own routing and groups, with other numbers of replicas or stages.
//
// In the first two tensor parallelism does not cut experts up, and ep counts GPUs. All nodes are alike but
// for StepSettings::slowest_speed. Every GPU routes as many tokens to an expert as any other, but for what
// flexible steps are told of the ranks. They also take the time in which each GPU computes the schedule of a
// dispatch, if the cost model knows it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/job/expert_parallel_group.h"
#include "models/job/step_batch.h"
#include "models/placement/expert_placement.h"
#include "models/placement/layer_classes.h"
#include "models/plan/training_plan.h"
#include "models/routing/rank_spread.h"
#include "models/step/memory_model.h"
#include "models/step/step_routing.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"
#include "sim/base/units.h"
#include "sim/machine/cost_model.h"

namespace goodput {

struct StepTime {
  SimDuration step{};
  SimDuration forward_backward{};  // until the last pass ends: what a checkpoint in the background can use
  std::int64_t samples = 0;        // sequences that it counts
  Tier tier = Tier::kModel;        // the lowest it rests on

  friend bool operator==(const StepTime&, const StepTime&) = default;
};

struct StepSettings {
  SimDuration step_overhead{};  // once a step, on top of all ops and of the plan's efficiency.step_us
  double moe_speedup = 1;       // of experts and all-to-alls over what the cost model says: faster kernels
  // Of the slowest node that takes part, 1: all are healthy. Its kernels take 1 / that as long, and all GPUs
  // wait for it in every layer, as if it were the busiest, too. Links are as fast as ever.
  double slowest_speed = 1;
  ExpertDispatch dispatch = ExpertDispatch::kPadded;  // of expert_parallel()
};

// Fails, naming the key of the plan, where the experts of a layer cannot be anywhere on the nodes of one
// stage.
[[nodiscard]] Status check_flexible(const ParallelPlan& plan);

class MoeStepModel {
 public:
  // Keeps references: all must outlive it. `base` says model, machines and what a replica does; its cluster
  // may have other numbers of nodes than its replicas take. `ranks`: how a layer's tokens spread over the
  // GPUs of flexible(); null: evenly. Errors of the methods below are of one line. REQUIRES:
  // check_training_plan(base), but for the number of nodes.
  MoeStepModel(const TrainingPlan& base, const CostModel& cost, BatchRule batch,
               const RankSpread* ranks = nullptr)
      : base_(base),
        cost_(cost),
        ranks_(ranks),
        batch_(base.parallel, batch),
        least_replicas_(least_replicas()) {}

  [[nodiscard]] const StepBatch& batch() const { return batch_; }

  // Layers whose experts have a routing and a placement, in order; those of multi-token prediction do as the
  // last of them does.
  [[nodiscard]] std::int32_t moe_layers() const;

  // The most of `nodes` nodes that whole groups of `ep` GPUs fill; 0: not one.
  [[nodiscard]] std::int32_t whole_nodes(std::int32_t nodes, std::int32_t ep) const;
  // Of those, the fewest that train a step's samples as fast: all of them, unless the batch is fixed.
  [[nodiscard]] std::int32_t usable_nodes(std::int32_t nodes, std::int32_t ep) const;

  // Nodes of one pipeline stage: the fewest that whole stages of replicas fill, and, of `nodes`, the fewest
  // that train a step's samples as fast; 0: on so few, a step has more ops than can be simulated.
  [[nodiscard]] std::int32_t stage_unit() const;
  [[nodiscard]] std::int32_t usable_stage_nodes(std::int32_t nodes) const;

  // The same of whole replicas of the plan, as dense() counts them.
  [[nodiscard]] std::int32_t whole_nodes(std::int32_t nodes) const;
  [[nodiscard]] std::int32_t usable_nodes(std::int32_t nodes) const;

  // On usable_nodes(nodes, group.gpus). `loads` by MoE layer and expert, in any unit (JobRouting::loads).
  // Fails where no group fits, its GPUs do not divide the experts, or loads are of other layers or experts.
  [[nodiscard]] Result<StepTime> expert_parallel(std::int32_t nodes, const ExpertParallelGroup& group,
                                                 std::span<const std::vector<std::int64_t>> loads,
                                                 const StepSettings& settings = {}) const;

  // A placement a MoE layer, on the nodes of the pipeline stage that holds it, which are as many for every
  // stage, with as many slots, and the slots of a node in the order of its GPUs (in_order_of_gpus,
  // models/placement/gpu_slots.h). Fails on an expert with tokens and no replica, and on check_flexible().
  [[nodiscard]] Result<StepTime> flexible(std::span<const ExpertPlacement> placements,
                                          std::span<const std::vector<std::int64_t>> loads,
                                          const StepSettings& settings = {}) const;
  // The same with a placement for each class of layers. REQUIRES: classes of equal loads, each of one stage.
  [[nodiscard]] Result<StepTime> flexible(std::span<const ExpertPlacement> placements,
                                          const LayerClasses& classes,
                                          std::span<const std::vector<std::int64_t>> loads,
                                          const StepSettings& settings = {}) const;

  // As many of the plan's replicas as fit on the nodes. Fails where not one does.
  [[nodiscard]] Result<StepTime> dense(std::int32_t nodes, const StepSettings& settings = {}) const;

  // The model on these machines cut up in another way: other pipelines, with a batch of their own. Fails like
  // check_training_plan().
  [[nodiscard]] Result<StepTime> planned(const ParallelPlan& parallel,
                                         const StepSettings& settings = {}) const;

  // Fails where planned() does, but for a cluster so slow that the step is too long to count.
  [[nodiscard]] Status check_planned(const ParallelPlan& parallel) const;

  // Whether it fits. Steps that do not are timed all the same. Activations count with balanced loads.
  [[nodiscard]] Result<MemoryReport> planned_memory(const ParallelPlan& parallel) const;
  [[nodiscard]] Result<MemoryReport> dense_memory(std::int32_t nodes) const;
  [[nodiscard]] Result<MemoryReport> expert_parallel_memory(std::int32_t nodes,
                                                            const ExpertParallelGroup& group) const;
  // `nodes`: of a stage.
  [[nodiscard]] Result<MemoryReport> flexible_memory(std::int32_t nodes, std::int32_t slots_per_node) const;
  // The same of the base plan, which must have experts.
  [[nodiscard]] Status check_flexible() const;

 private:
  // On nodes whose GPUs hold whole experts.
  struct SlotPlan {
    TrainingPlan plan;
    ExpertSlots slots;
  };
  [[nodiscard]] Result<SlotPlan> expert_parallel_plan(std::int32_t nodes,
                                                      const ExpertParallelGroup& group) const;
  [[nodiscard]] Result<std::vector<ExpertShare>> group_shares(
      const SlotPlan& placed, const ExpertParallelGroup& group,
      std::span<const std::vector<std::int64_t>> loads, ExpertDispatch dispatch) const;
  [[nodiscard]] Result<SlotPlan> flexible_plan(std::int32_t nodes, std::int32_t slots_per_node) const;
  [[nodiscard]] std::int64_t least_replicas() const;
  [[nodiscard]] Error too_large_batch(std::int32_t nodes) const;
  // Of whole units of nodes, those that a fixed batch needs; `gpus_each`: that a replica has there.
  [[nodiscard]] std::int32_t fewest_nodes(std::int32_t nodes, std::int64_t unit,
                                          std::int64_t gpus_each) const;
  [[nodiscard]] TrainingPlan cut_up(const ParallelPlan& parallel) const;
  [[nodiscard]] TrainingPlan on_nodes(std::int32_t nodes) const;
  [[nodiscard]] TrainingPlan with_replicas(std::int64_t replicas) const;
  // That fit: whole expert-parallel groups of them; and those that dense() trains with.
  [[nodiscard]] std::int64_t whole_replicas(std::int32_t nodes) const;
  [[nodiscard]] std::int64_t used_replicas(std::int32_t nodes) const;
  [[nodiscard]] Result<std::int64_t> dense_replicas(std::int32_t nodes) const;  // the same, or why not
  [[nodiscard]] Status check_loads(std::span<const std::vector<std::int64_t>> loads) const;
  [[nodiscard]] Result<StepTime> time(const TrainingPlan& plan, const StepRouting& routing,
                                      const StepSettings& settings) const;

  const TrainingPlan& base_;
  const CostModel& cost_;
  const RankSpread* ranks_;
  StepBatch batch_;
  // With fewer a fixed batch has so many micro-batches that nobody can simulate a step (check_step_size).
  std::int64_t least_replicas_;
};

}  // namespace goodput
