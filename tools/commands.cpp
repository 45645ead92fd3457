#include "tools/commands.h"

#include "sim/base/registry.h"

namespace goodput {

#define GOODPUT_COMMAND(name) CommandInfo command_##name();
#include "tools/commands.def"
#undef GOODPUT_COMMAND

std::vector<CommandInfo> builtin_commands() {
  return registry_of("command", std::vector<CommandInfo>{
#define GOODPUT_COMMAND(name) command_##name(),
#include "tools/commands.def"
#undef GOODPUT_COMMAND
                                });
}

}  // namespace goodput
