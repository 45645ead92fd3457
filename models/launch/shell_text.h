// Text of a shell script in which each character knows its line, however often it was copied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace goodput::launch {

// A variable that the script does not set stands as kUnsetBegin NAME kUnsetEnd (models/launch/settings.h).
struct ShellText {
  std::string text{};
  std::vector<std::uint32_t> lines{};  // as many

  void append(char c, std::uint32_t line) {
    text.push_back(c);
    lines.push_back(line);
  }
  void append(const ShellText& other);
  [[nodiscard]] ShellText part(std::size_t begin, std::size_t count = std::string::npos) const;
  [[nodiscard]] std::uint32_t line() const { return lines.empty() ? 0 : lines.front(); }
};

[[nodiscard]] ShellText shell_text(std::string_view text, std::uint32_t line);
[[nodiscard]] ShellText unset_text(std::string_view name, std::uint32_t line);
// A value that goodput cannot tell; empty: of no variable.
[[nodiscard]] ShellText unknown_text(std::string_view name, std::uint32_t line);
[[nodiscard]] bool is_known(std::string_view text);  // refers to no variable that is not set
[[nodiscard]] bool is_blank(char c);
[[nodiscard]] bool is_shell_name_char(char c);

}  // namespace goodput::launch
