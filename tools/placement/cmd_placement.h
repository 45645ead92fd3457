// `goodput placement`: how many replicas each expert of an MoE model gets, where they go, and what that
// survives.
#pragma once

#include <memory>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::unique_ptr<Command> make_placement_command();

}  // namespace goodput
