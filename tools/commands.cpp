#include "tools/commands.h"

#include "sim/base/registry.h"

namespace goodput {

#define GOODPUT_COMMAND(name) CommandInfo command_##name();
#include "tools/commands.def"
#undef GOODPUT_COMMAND

std::span<const CommandInfo> builtin_commands() {
  static const Registry<CommandInfo> all = {
#define GOODPUT_COMMAND(name) command_##name(),
#include "tools/commands.def"
#undef GOODPUT_COMMAND
  };
  return all.infos();
}

}  // namespace goodput
