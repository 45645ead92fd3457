// The slow, obvious reference of sim/engine/step_engine.h: looks at every op and every flow at every moment
// at which something happens.
#pragma once

#include <vector>

#include "sim/engine/step_engine.h"
#include "tests/support/random_step.h"

namespace goodput::reference {

// By instance (op * lanes + lane), as in StepOutcome.
struct InstanceTimes {
  std::vector<SimTime> starts;
  std::vector<SimTime> ends;
};

[[nodiscard]] InstanceTimes run_step_by_moments(const testing::RandomStep& step, Contention contention);

}  // namespace goodput::reference
