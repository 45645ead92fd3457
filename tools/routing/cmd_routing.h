// `goodput routing info FILE...` and `goodput routing synth CONFIG.json --out FILE`.
#pragma once

#include <memory>

#include "tools/cli/command.h"

namespace goodput {

[[nodiscard]] std::unique_ptr<Command> make_routing_command();

}  // namespace goodput
