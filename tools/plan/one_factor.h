// What the best answer would come to with one number of it changed: spares, checkpoints, nodes of the spot
// market.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/planner/plan_question.h"
#include "tools/plan/contenders.h"
#include "tools/plan/plan_option.h"

namespace goodput {

enum class PlanFactor : std::uint8_t { kSpares, kInterval, kSpot };
inline constexpr std::array<std::string_view, 3> kPlanFactorNames = {"spares", "interval_steps",
                                                                     "spot_nodes"};

// Contenders that differ from the best answer in this number alone, and the answer among them: ascending.
struct OneFactorCurve {
  PlanFactor factor = PlanFactor::kSpares;
  std::vector<PlanOption> options{};
};

// Those that have two options or more. Contenders that fell out early have few trials: their intervals are
// wide.
[[nodiscard]] std::vector<OneFactorCurve> one_factor_curves(const Contenders& contenders,
                                                            const PlanQuestion& question, std::size_t best);

[[nodiscard]] std::int64_t factor_value(PlanFactor factor, const PlanOption& option);

}  // namespace goodput
