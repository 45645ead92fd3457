// What the completion scripts of all shells are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/command_help.h"

namespace goodput {

// A command and all below it, each before those below it. They point into `command`.
[[nodiscard]] std::vector<const CommandHelp*> with_all_below(const CommandHelp& command);

// The names of the commands below it.
[[nodiscard]] std::vector<std::string> command_words(const CommandHelp& command);

// Whether its arguments are the words of a command: `goodput help trace info`.
[[nodiscard]] bool takes_command_words(const CommandHelp& command);

// One word, and nothing in it means anything, to bash and zsh.
[[nodiscard]] std::string quoted_for_shell(std::string_view text);

// `text` with a backslash before each of `special`.
[[nodiscard]] std::string with_backslashes(std::string_view text, std::string_view special);

}  // namespace goodput
