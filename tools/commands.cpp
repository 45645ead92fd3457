#include "tools/commands.h"

namespace goodput {

#define GOODPUT_COMMAND(maker, name, summary, example) std::unique_ptr<Command> maker();
#include "tools/commands.def"
#undef GOODPUT_COMMAND

std::vector<CommandInfo> builtin_commands() {
  return {
#define GOODPUT_COMMAND(maker, name, summary, example) {name, summary, example, maker},
#include "tools/commands.def"
#undef GOODPUT_COMMAND
  };
}

}  // namespace goodput
