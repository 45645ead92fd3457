// `goodput trace info FILE...` and `goodput trace convert IN... OUT`.
#pragma once

#include <memory>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::unique_ptr<Command> make_trace_command();

}  // namespace goodput
