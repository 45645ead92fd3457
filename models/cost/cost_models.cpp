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

Result<std::unique_ptr<CostModel>> make_cost_model(const CostInputs& inputs) {
  std::vector<std::string_view> known;
  for (const CostModelInfo& info : cost_models()) {
    if (info.name == inputs.model) return info.make(inputs);
    known.push_back(info.name);
  }
  return Error{fmt::format("no cost model {}{}; known: {}", in_quotes(inputs.model),
                           did_you_mean(inputs.model, known), fmt::join(known, ", ")),
               {.file = inputs.where, .pointer = "/cost/model"}};
}

}  // namespace goodput
