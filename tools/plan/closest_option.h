// What comes closest to limits that no contender keeps to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "models/planner/plan_question.h"
#include "tools/plan/contenders.h"

namespace goodput {

struct ClosestOption {
  std::optional<std::size_t> contender{};  // none: no job finishes, whatever the choice
  std::string lacks{};                     // what it lacks, and by how much
};

// According to the trials there are. If deadline and budget could each be kept alone, it says that no choice
// keeps to both.
[[nodiscard]] ClosestOption closest_option(const Contenders& contenders, const PlanQuestion& question);

}  // namespace goodput
