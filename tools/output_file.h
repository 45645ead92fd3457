// Output files are written whole or not at all: to a temporary file beside the target, then renamed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sim/errors.h"

namespace goodput {

// Calls `write` with the path of a temporary file in the folder of `path`, then renames that file to `path`.
// When `write` fails, throws, or the process is interrupted (below), the temporary is removed and `path` is
// as it was. What is no file (a pipe, /dev/null) is written in place; a symbolic link stays, what it points
// to is replaced.
// `-` for stdout is the caller's business.
Status write_file_atomically(const std::string& path, const std::function<Status(const std::string&)>& write);

// The same for text that is already in memory.
Status write_text_atomically(const std::string& path, std::string_view text);

// From now on SIGINT and SIGTERM remove the temporary files that exist and end the process with code 130.
void remove_unfinished_files_on_interrupt();

}  // namespace goodput
