// What comes nearest to limits that nothing keeps to.
#pragma once

#include <optional>
#include <string>

#include "models/planner/plan_question.h"
#include "tools/plan/contenders.h"

namespace goodput {

struct ClosestOption {
  std::optional<std::size_t> contender{};  // none: no job finishes, whatever is chosen
  std::string lacks{};                     // in which respect, and by how much
};
// By the trials there are. Where deadline and budget could each be kept alone, it says that the two
// contradict each other.
[[nodiscard]] ClosestOption closest_option(const Contenders& contenders, const PlanQuestion& question);

}  // namespace goodput
