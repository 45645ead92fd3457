#include "models/cost/cost_models.h"

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

Result<std::unique_ptr<CostModel>> make_cost_model(const CostInputs& inputs) {
  const auto found = find_named(cost_models(), "cost model", inputs.model);
  if (!found)
    return Error{found.error().what, {.file = inputs.file, .pointer = inputs.pointer + "/cost/model"}};
  return found->make(inputs);
}

}  // namespace goodput
