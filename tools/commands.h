// Every command there is (tools/commands.def).
#pragma once

#include <span>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::span<const CommandInfo> builtin_commands();

}  // namespace goodput
