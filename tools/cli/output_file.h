// Output files are written whole or not at all: to a temporary file beside the target, then renamed.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

// Calls `write` with the path of a temporary file in the folder of `path`, then renames that file to `path`,
// and returns once both would survive a power cut. The name of the temporary begins with a dot: those who
// watch the folder leave it alone. When `write` fails, throws, or the process is interrupted (below), the
// temporary is removed and `path` is as it was. What is no file (a pipe, /dev/null) is written in place; a
// symbolic link stays, what it points to is replaced, and one that leads nowhere is an error.
// `-` for stdout is the caller's business.
Status write_file_atomically(const std::string& path, const std::function<Status(const std::string&)>& write);

// The same for text that is already in memory.
Status write_text_atomically(const std::string& path, std::string_view text);

// Returns once files that were created, renamed or removed in this folder stay so, even over a power cut.
Status sync_folder(const std::string& folder);

// A file that an option names for writing; an empty path means the option was not given.
struct OutputPath {
  std::string_view option;  // --json
  std::string path;
};

// Refuses what would lose data: an output that is also an input, two outputs to one file, two results on
// stdout, an output whose symbolic link leads nowhere. Files count as the same through links too; what is no
// regular file (/dev/null) may be named twice.
Status check_file_roles(const std::vector<std::string>& inputs, const std::vector<OutputPath>& outputs);

// From now on SIGINT, SIGTERM and SIGHUP remove the temporary files that exist and end the process with code
// 130, and a file that grows over the size limit is an error like a full disk.
void remove_unfinished_files_on_interrupt();

}  // namespace goodput
