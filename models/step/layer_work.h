// The work of a decoder layer, part by part: kernels (models/step/block_work.h) and the collectives between
// them, for one micro-batch on one GPU of a stage.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/plan/parallel_plan.h"
#include "models/shape/model_shape.h"
#include "models/step/block_work.h"
#include "models/step/plan_groups.h"
#include "sim/machine/cost_model.h"

namespace goodput {

enum class LayerPart : std::uint8_t {
#define GOODPUT_LAYER_PART(enumerator, name, is_communication) enumerator,
#include "models/step/layer_parts.def"
#undef GOODPUT_LAYER_PART
};

struct LayerPartInfo {
  std::string_view name;
  bool is_communication;
};
inline constexpr std::array kLayerParts = {
#define GOODPUT_LAYER_PART(enumerator, name, is_communication) LayerPartInfo{name, is_communication},
#include "models/step/layer_parts.def"
#undef GOODPUT_LAYER_PART
};
[[nodiscard]] constexpr const LayerPartInfo& info(LayerPart part) {
  return kLayerParts[static_cast<std::size_t>(part)];
}

// Kernels, then collectives one after the other.
struct PartWork {
  LayerPart part = LayerPart::kWhole;
  std::vector<Kernel> kernels{};
  std::vector<CollectiveCall> collectives{};
  std::vector<Kernel> beside{};  // run while the collectives do, and are counted elsewhere: they hide them
  double share_alone = 0;        // share of the collectives that does not overlap
  std::optional<Cost> more{};    // of kernels beyond those above
};

// What the experts of one GPU get to do for a micro-batch of every GPU of their group.
struct ExpertShare {
  double tokens = 0;     // to compute here, each counted once an expert
  double imbalance = 1;  // of the all-to-all: the most any GPU of the group receives over the mean

  friend bool operator==(const ExpertShare&, const ExpertShare&) = default;
};

// Keeps references to model and plan.
class LayerWork {
 public:
  LayerWork(const ModelShape& model, const ParallelPlan& plan, std::int32_t gpus_per_node,
            ExpertSlots slots = {})
      : scope_{model, plan, slots}, groups_(plan, gpus_per_node, slots) {}

  // In the order in which the parts run. `share` is used where the layer has experts. Layers from
  // model.layers on are those of multi-token prediction, built like the last decoder layer.
  [[nodiscard]] std::vector<PartWork> forward(std::int32_t layer, const ExpertShare& share) const;
  // With the recomputation that the plan asks for in front (kWeights: without).
  [[nodiscard]] std::vector<PartWork> backward(std::int32_t layer, const ExpertShare& share,
                                               Gradients gradients) const;

  // What of these depends on the share's tokens, in the same order: experts, and what peers exchange for
  // them. REQUIRES: a layer with experts.
  [[nodiscard]] std::vector<PartWork> forward_by_rank(const ExpertShare& share) const;
  [[nodiscard]] std::vector<PartWork> backward_by_rank(const ExpertShare& share, Gradients gradients) const;

  // Of the first and the last position of the pipeline.
  [[nodiscard]] std::vector<PartWork> embedding_forward() const;
  [[nodiscard]] std::vector<PartWork> embedding_backward() const;
  [[nodiscard]] std::vector<PartWork> head_forward() const;
  [[nodiscard]] std::vector<PartWork> head_backward(Gradients gradients) const;

  // Every expert gets its share.
  [[nodiscard]] ExpertShare balanced_share() const;
  [[nodiscard]] bool has_experts(std::int32_t layer) const;

  [[nodiscard]] const BlockScope& scope() const { return scope_; }
  [[nodiscard]] const PlanGroups& groups() const { return groups_; }

 private:
  void add_tensor_parallel(std::vector<PartWork>& parts, LayerPart part, std::vector<Kernel> beside = {},
                           double share_alone = 0) const;
  void add_forward_tensor_parallel(std::vector<PartWork>& parts, LayerPart part,
                                   std::vector<Kernel> products) const;
  [[nodiscard]] double gathered_bytes() const;
  void add_recomputed_gathers(std::vector<PartWork>& parts) const;
  void add_context_parallel(std::vector<PartWork>& parts, bool backward) const;
  [[nodiscard]] std::vector<PartWork> routed_backward(const ExpertShare& share, Gradients gradients) const;
  void add_routed_rows(std::vector<PartWork>& parts, Collective kind, const ExpertShare& share) const;
  [[nodiscard]] bool has_shared_experts() const { return scope_.model.moe->shared_experts > 0; }
  // Of all shared experts together, which are one FFN.
  [[nodiscard]] double shared_hidden_size() const;
  // Whether these rows are exchanged for the experts alone. With ep 1 and etp equal to tp, they are gathered
  // as those of a dense FFN are.
  [[nodiscard]] bool exchanges_rows() const {
    return scope_.share_rows_of_experts() && (scope_.plan.ep > 1 || scope_.plan.tp != scope_.tp_of_expert());
  }
  // Whether what a layer with experts puts out is a sum over tensor-parallel peers.
  [[nodiscard]] bool sums_up_experts() const {
    return has_shared_experts() || (scope_.tp_of_expert() > 1 && !exchanges_rows());
  }
  [[nodiscard]] CollectiveCall count_exchange() const;
  [[nodiscard]] CollectiveCall routed_all_to_all(const ExpertShare& share, double bytes_per_value) const;

  BlockScope scope_;
  PlanGroups groups_;
};

}  // namespace goodput
