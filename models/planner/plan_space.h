// Which parallel plans a search looks at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/plan/parallel_plan.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"

namespace goodput {

// What may vary, by the keys of a plan's "parallel". An empty list: all that the model and the machines allow
// (list_choices() in models/planner/plan_choice.h says what that is).
struct PlanSpace {
  std::vector<std::int32_t> dp;
  std::vector<std::int32_t> pp;
  std::vector<std::int32_t> tp;
  std::vector<std::int32_t> cp;
  std::vector<std::int32_t> ep;
  std::vector<std::int32_t> etp;
  std::vector<std::int32_t> vpp;
  std::vector<std::int32_t> zero;
  std::vector<std::int32_t> micro_batch;
  std::vector<Recompute> recompute;
  std::vector<std::string> schedules;
};

[[nodiscard]] config::Fields config_fields(PlanSpace& space);
// Fails on a schedule that does not exist.
[[nodiscard]] Status config_finish(PlanSpace& space);

}  // namespace goodput
