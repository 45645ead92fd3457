// Config files that a command is told of, by path or by name (sim/config/library.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/config/library.h"
#include "tools/cli/command.h"

namespace goodput {

// The folders of --configs, then those of GOODPUT_CONFIGS, then the one that came with the program, if it is
// found: share/goodput/configs above it, or configs of the clone it was built in. Fails on a folder that is
// given and holds no configs.
[[nodiscard]] Result<config::Library> config_library(const CommandContext& context);

// What `argument` means. A name is looked up; one that is unknown may still be a file here. What is looked up
// and shadows another file is noted.
[[nodiscard]] Result<std::string> config_file(const std::string& argument, const config::Kind& kind,
                                              const config::Library& library, const CommandContext& context);

// A note for each of the files that shadows another one.
void note_shadowed(std::span<const config::Source> sources, const CommandContext& context);

[[nodiscard]] std::vector<std::string> files_of(std::span<const config::Source> sources);

}  // namespace goodput
