// `goodput whatif TRACE...`: straggler analysis of a recorded training job.
#pragma once

#include <memory>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::unique_ptr<Command> make_whatif_command();

}  // namespace goodput
