// From what was declared for the parser to what help shows.
#pragma once

#include <string>
#include <string_view>

#include "tools/cli/command_help.h"
#include "tools/cli/options.h"

namespace goodput {

// Under which help lists the options that every command has.
inline constexpr std::string_view kGlobalGroup = "Global options";

// REQUIRES: the footer of every command is its example.
[[nodiscard]] CommandHelp describe_command(const CLI::App& app, const DeclaredOptions& declared);

// The app's name behind those of all it is part of.
[[nodiscard]] std::string full_name(const CLI::App& app);

}  // namespace goodput
