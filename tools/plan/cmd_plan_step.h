// `goodput plan-step`: what one training step of a plan takes.
#pragma once

#include <memory>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::unique_ptr<Command> make_plan_step_command();

}  // namespace goodput
