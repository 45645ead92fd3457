// `goodput synth`: a trace of a job that never ran, with known stragglers.
#pragma once

#include <memory>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::unique_ptr<Command> make_synth_command();

}  // namespace goodput
