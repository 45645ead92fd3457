// `goodput list WHAT`: everything built in, and the configs beside it, one line each.
#pragma once

#include <memory>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::unique_ptr<Command> make_list_command();

}  // namespace goodput
