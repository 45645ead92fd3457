// Every command there is (tools/commands.def).
#pragma once

#include <vector>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::vector<CommandInfo> builtin_commands();

}  // namespace goodput
