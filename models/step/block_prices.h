// What the passes over the blocks of a model take: layers, embedding, output heads. That is all of a step but
// what the pipeline and data parallelism add, and the same for all plans that differ in these only.
#pragma once

#include <cstdint>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/step/granularity.h"
#include "models/step/layer_work.h"
#include "models/step/op_pricer.h"
#include "models/step/step_routing.h"
#include "sim/base/tier.h"
#include "sim/base/units.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// A part of a pass.
struct PartCost {
  LayerPart part = LayerPart::kWhole;
  std::int16_t layer = -1;  // -1: embedding, head
  SimDuration time{};       // of the expert-parallel rank with most to do
  SimDuration least{};      // and of that with least
  double nic_bytes = 0;
  SimDuration hidden{};                // what other parts hide of it, besides
  std::vector<SimDuration> by_rank{};  // where their loads differ
};

// One pass over a block for one micro-batch, its parts in turn; of Granularity::kOps in one part.
struct BlockPass {
  std::vector<PartCost> parts;
  SimDuration computation{};  // of it, on the first rank
  // Some rank takes longest in every part, so that those of `time` add up to what the ranks take that meet
  // before and after.
  bool has_slowest_rank = true;
};

struct BlockPrice {
  BlockPass forward;
  BlockPass backward;         // all gradients
  BlockPass backward_input;   // gradients of activations only
  BlockPass backward_weight;  // and those left out
  double priced_s = 0;        // all that was priced for it, added up
};

class BlockPrices {
 public:
  // Prices depend on these parts of the plan: the model, the cluster, the efficiency, tp, cp, ep, etp,
  // sequence_parallel, micro_batch, sequence_length, recompute, the keys that say how kernels run and tokens
  // are dispatched, whether there are several micro-batches, and the number of GPUs (a step waits for the
  // slowest one). REQUIRES: check_training_plan(plan); routing.shares of all layers of the plan.
  BlockPrices(const TrainingPlan& plan, const CostModel& cost, const StepRouting& routing,
              Granularity granularity);

  // Layers from model.layers on are those of multi-token prediction. Parts are of the first such layer.
  [[nodiscard]] const BlockPrice& layer(std::int32_t layer) const {
    return blocks_[kind_of_[static_cast<std::size_t>(layer)]];
  }
  [[nodiscard]] const BlockPrice& embedding() const { return embedding_; }
  [[nodiscard]] const BlockPrice& head() const { return head_; }

  [[nodiscard]] double priced_s() const { return priced_s_; }  // of all layers, the embedding and the heads
  [[nodiscard]] Tier tier() const { return tier_; }            // the lowest of all
  [[nodiscard]] bool have_slowest_rank() const { return have_slowest_rank_; }  // all passes
  [[nodiscard]] std::int32_t ranks() const { return ranks_; }  // entries of by_rank where they differ

 private:
  std::vector<BlockPrice> blocks_;
  std::vector<std::size_t> kind_of_;  // by layer
  BlockPrice embedding_;
  BlockPrice head_;
  double priced_s_ = 0;
  Tier tier_ = Tier::kMeasured;
  std::int32_t ranks_ = 1;
  bool have_slowest_rank_ = true;
};

}  // namespace goodput
