#include "models/cost/cost_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <vector>

#include "sim/base/text.h"

namespace goodput {

std::span<const CostModelInfo> cost_models() {
  static constexpr std::array kModels = {
#define GOODPUT_COST_MODEL(maker, name, summary) CostModelInfo{name, summary, maker},
#include "models/cost/cost_models.def"
#undef GOODPUT_COST_MODEL
  };
  return kModels;
}

Result<std::unique_ptr<CostModel>> make_cost_model(const TrainingPlan& plan) {
  std::vector<std::string_view> known;
  for (const CostModelInfo& info : cost_models()) {
    if (info.name == plan.cost_model) return info.make(plan);
    known.push_back(info.name);
  }
  return Error{plan.file + " /cost/model",
               fmt::format("no cost model {}{}; known: {}", goodput::quoted(plan.cost_model),
                           did_you_mean(plan.cost_model, known), fmt::join(known, ", "))};
}

}  // namespace goodput
