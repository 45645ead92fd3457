// Completion scripts of shells, from what the command line can say.
//
// They complete commands, options, the values of options that have names to choose from, and files. Names of
// configs are asked of `goodput list` when they are wanted, so that a user's own are there too.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/cli/command_help.h"

namespace goodput {

[[nodiscard]] std::string bash_completion(const CommandHelp& program);
[[nodiscard]] std::string zsh_completion(const CommandHelp& program);
[[nodiscard]] std::string fish_completion(const CommandHelp& program);

struct Shell {
  std::string_view name;
  std::string (*completion)(const CommandHelp& program);
};
inline constexpr Shell kShells[] = {
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

}  // namespace goodput
