// The command line of `goodput`: parse, dispatch, exit code.
#pragma once

#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/command.h"

namespace goodput {

// On the command line an option is a flag: "top_k" is --top-k.
[[nodiscard]] std::string flag_of(std::string_view key);

// Runs the one of `commands` that `arguments` (without the program's name) ask for. Exceptions of our own
// bugs pass through.
[[nodiscard]] ExitCode run_command_line(std::span<const CommandInfo> commands,
                                        const std::vector<std::string>& arguments, std::ostream& out,
                                        std::ostream& err, Terminal terminal = {},
                                        const Environment& environment = {},
                                        const std::shared_ptr<config::ForeignFiles>& foreign_files = {});

}  // namespace goodput
