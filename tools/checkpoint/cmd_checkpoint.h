// `goodput checkpoint`: what a checkpoint of a model holds, how much smaller partial and sharded ones are,
// and what they cost a run with faults.
#pragma once

#include <memory>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::unique_ptr<Command> make_checkpoint_command();

}  // namespace goodput
