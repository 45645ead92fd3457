// What a command line can say, as data: --help, the man page and the completions are made from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// What the values of an option are.
struct ValueKind {
  enum class Of : std::uint8_t { kText, kFile, kFolder, kChoice, kListed };

  Of of = Of::kText;
  std::vector<std::string> choices{};  // kChoice: one of these
  std::string listed{};                // kListed: a name that `goodput list` prints of this, or a file
};

// An option, or an argument: that has no names.
struct OptionHelp {
  std::vector<std::string> names{};  // -h, --help
  std::string value{};               // stands for its value, "FILE"; empty: a flag
  std::string text{};
  std::string group{};  // under which help lists it
  ValueKind kind{};
  bool is_required = false;
  bool may_repeat = false;

  [[nodiscard]] bool is_flag() const { return value.empty(); }
};

struct CommandHelp {
  std::string name{};  // goodput trace info
  std::string summary{};
  std::string example{};  // command lines, each on a line of its own
  std::vector<OptionHelp> arguments{};
  std::vector<OptionHelp> options{};    // its own; those of every command: GlobalOptions
  std::vector<OptionHelp> globals{};    // that every command has; of a command with commands: none
  std::vector<CommandHelp> commands{};  // then it does nothing itself

  // The last word of the name.
  [[nodiscard]] std::string_view word() const { return std::string_view(name).substr(name.rfind(' ') + 1); }
};

// "goodput whatif [OPTIONS] TRACE..."
[[nodiscard]] std::string usage(const CommandHelp& command);

// What `goodput COMMAND --help` shows, no line longer than `width` where words allow it.
[[nodiscard]] std::string help_text(const CommandHelp& command, std::size_t width);

}  // namespace goodput
