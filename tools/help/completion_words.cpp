#include "tools/help/completion_words.h"

namespace goodput {

std::vector<const CommandHelp*> with_all_below(const CommandHelp& command) {
  std::vector<const CommandHelp*> all = {&command};
  for (const CommandHelp& one : command.commands) {
    const std::vector<const CommandHelp*> below = with_all_below(one);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::vector<std::string> command_words(const CommandHelp& command) {
  std::vector<std::string> words;
  for (const CommandHelp& one : command.commands) words.emplace_back(one.word());
  return words;
}

bool takes_command_words(const CommandHelp& command) {
  return command.name == "goodput help";
}

std::string quoted_for_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string with_backslashes(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace goodput
