// Which candidates of a plan search can be run at all: the rules of plans, then memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/plan/training_plan.h"
#include "models/schedule/schedule.h"
#include "sim/base/errors.h"
#include "sim/base/units.h"

namespace goodput {

// Why a candidate is none. Candidates are counted under the phrases.
enum class Rejection : std::uint8_t {
#define GOODPUT_PLAN_REJECTION(enumerator, phrase) enumerator,
#include "models/planner/rejections.def"
#undef GOODPUT_PLAN_REJECTION
};
[[nodiscard]] std::string_view to_string(Rejection rejection);

// The rule of check_training_plan() that a plan breaks, if any. An error where no choice of a search can mend
// it.
[[nodiscard]] Result<std::optional<Rejection>> broken_rule(const TrainingPlan& plan);

}  // namespace goodput
