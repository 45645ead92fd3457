// The cost models a plan can name. Adding one is a file models/cost/<name>.cpp, which defines
// `cost_model_<name>()`, and a line in models/cost/cost_models.def.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "models/cost/cost_inputs.h"
#include "sim/base/errors.h"
#include "sim/machine/cost_model.h"

namespace goodput {

struct CostModelInfo {
  std::string_view name;
  std::string_view summary;
  Result<std::unique_ptr<CostModel>> (*make)(const CostInputs& inputs);
  bool reads_calibration = false;
};
#define GOODPUT_COST_MODEL(name) CostModelInfo cost_model_##name();
#include "models/cost/cost_models.def"
#undef GOODPUT_COST_MODEL

[[nodiscard]] std::span<const CostModelInfo> cost_models();

// The one that `inputs` name, for their cluster.
Result<std::unique_ptr<CostModel>> make_cost_model(const CostInputs& inputs);

}  // namespace goodput
