#include "models/cost/cost_models.h"

#include <utility>
#include <vector>

#include "sim/base/registry.h"

namespace goodput {

std::span<const CostModelInfo> cost_models() {
  static const Registry<CostModelInfo> all = {
#define GOODPUT_COST_MODEL(name) cost_model_##name(),
#include "models/cost/cost_models.def"
#undef GOODPUT_COST_MODEL
  };
  return all.infos();
}

namespace {

class SlowedCost final : public CostModel {
 public:
  SlowedCost(std::unique_ptr<CostModel> model, double slowdown)
      : model_(std::move(model)), slowdown_(slowdown) {}

  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override {
    return slowed(model_->kernels(sequence));
  }
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override {
    return slowed(model_->collective(call));
  }
  [[nodiscard]] std::optional<Cost> dispatch_schedule(std::int32_t ranks,
                                                      std::int32_t experts) const override {
    const std::optional<Cost> cost = model_->dispatch_schedule(ranks, experts);
    return cost ? std::optional(slowed(*cost)) : cost;
  }

 private:
  [[nodiscard]] Cost slowed(Cost cost) const {
    cost.seconds *= slowdown_;
    return cost;
  }

  std::unique_ptr<CostModel> model_;
  double slowdown_;
};

}  // namespace

Result<std::unique_ptr<CostModel>> make_cost_model(const CostInputs& inputs) {
  const auto found = find_named(cost_models(), "cost model", inputs.model);
  if (!found)
    return Error{found.error().what, {.file = inputs.file, .pointer = inputs.pointer + "/cost/model"}};
  auto model = found->make(inputs);
  if (!model || inputs.slowdown == 1) return model;
  return std::unique_ptr<CostModel>(std::make_unique<SlowedCost>(*std::move(model), inputs.slowdown));
}

}  // namespace goodput
