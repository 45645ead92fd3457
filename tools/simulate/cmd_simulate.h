// `goodput simulate`: how far a job gets under failures, by recovery policy, and where its time goes.
#pragma once

#include <memory>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::unique_ptr<Command> make_simulate_command();

}  // namespace goodput
