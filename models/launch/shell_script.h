// The commands that a launch script runs, without running it: what variables, arrays, arithmetic and
// conditions with known values make of their words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/errors.h"

namespace goodput::launch {

// Text in which each character knows the line that it comes from. A variable that the script does not set
// stands as kUnsetBegin NAME kUnsetEnd (models/launch/settings.h).
struct ShellText {
  std::string text{};
  std::vector<std::uint32_t> lines{};  // as many

  void append(char c, std::uint32_t line) {
    text.push_back(c);
    lines.push_back(line);
  }
  void append(const ShellText& other);
  [[nodiscard]] std::uint32_t line() const { return lines.empty() ? 0 : lines.front(); }
};

using ShellCommand = std::vector<ShellText>;  // its words

struct ShellScript {
  std::vector<ShellCommand> commands{};
  std::map<std::string, std::string> batch_options{};  // of #SBATCH lines: {"nodes": "8"}
};

// Simple commands in order, with their variables replaced; those of branches that are not taken are left out.
// `environment`: variables that are set outside. Substitutions $(...) and loops are not run: what they would
// set is unset. Errors: an unfinished quotation, an expansion that grows beyond a megabyte.
Result<ShellScript> read_shell_script(const std::string& text, const std::string& file,
                                      const std::map<std::string, std::string>& environment);

// The words of a text, cut at blanks outside quotation marks, which are removed.
[[nodiscard]] ShellCommand shell_words(const ShellText& text);

}  // namespace goodput::launch
