// The cost models a plan can name. Adding one is a file models/cost/<name>.cpp and a line in
// models/cost/cost_models.def.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "models/plan/training_plan.h"
#include "sim/base/errors.h"
#include "sim/machine/cost_model.h"

namespace goodput {

struct CostModelInfo {
  std::string_view name;
  std::string_view summary;
  Result<std::unique_ptr<CostModel>> (*make)(const TrainingPlan& plan);
};
[[nodiscard]] std::span<const CostModelInfo> cost_models();

// The one that the plan names, for its cluster.
Result<std::unique_ptr<CostModel>> make_cost_model(const TrainingPlan& plan);

#define GOODPUT_COST_MODEL(maker, name, summary) \
  Result<std::unique_ptr<CostModel>> maker(const TrainingPlan& plan);
#include "models/cost/cost_models.def"
#undef GOODPUT_COST_MODEL

}  // namespace goodput
