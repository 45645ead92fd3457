// The commands that a launch script runs, without running it: what variables, arrays, arithmetic and
// conditions with known values make of their words.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/launch/shell_text.h"
#include "sim/base/errors.h"

namespace goodput::launch {

using ShellCommand = std::vector<ShellText>;  // its words

struct ShellScript {
  std::vector<ShellCommand> commands{};
  std::map<std::string, std::string> batch_options{};  // of #SBATCH lines: {"nodes": "8"}
  std::vector<ShellText> variables{};                  // values that contain "--", the longest first
  std::vector<std::uint32_t> left_out{};  // lines that add arguments under a condition that is not known
  std::vector<ShellText> sourced{};       // files that `source` reads
};

// Simple commands in order, with their variables replaced; those of branches that are not taken are left out.
// What `bash -c`, `eval` and here documents run is read too. `environment`: variables that are set outside.
// Substitutions $(...), loops and functions are not run, and conditions on files and programs not known: a
// variable that they set has a value that is not known. Errors: an unfinished quotation,
// variables that grow without limit.
Result<ShellScript> read_shell_script(const std::string& text, const std::string& file,
                                      const std::map<std::string, std::string>& environment);

}  // namespace goodput::launch
