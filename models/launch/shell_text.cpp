#include "models/launch/shell_text.h"

#include <algorithm>
#include <cctype>

#include "models/launch/settings.h"

namespace goodput::launch {

void ShellText::append(const ShellText& other) {
  text += other.text;
  lines.insert(lines.end(), other.lines.begin(), other.lines.end());
}

ShellText ShellText::part(std::size_t begin, std::size_t count) const {
  begin = std::min(begin, text.size());
  count = std::min(count, text.size() - begin);
  const auto first = lines.begin() + static_cast<std::ptrdiff_t>(begin);
  return {text.substr(begin, count), {first, first + static_cast<std::ptrdiff_t>(count)}};
}

ShellText shell_text(std::string_view text, std::uint32_t line) {
  return {std::string(text), std::vector<std::uint32_t>(text.size(), line)};
}

namespace {

// The name becomes part of text that may be read as shell words again.
std::string plain_name(std::string_view name) {
  std::string plain(name.substr(0, 40));
  for (char& c : plain)
    if (!is_shell_name_char(c)) c = '_';
  return plain;
}

}  // namespace

ShellText unset_text(std::string_view name, std::uint32_t line) {
  return shell_text(kUnsetBegin + plain_name(name) + kUnsetEnd, line);
}

ShellText unknown_text(std::string_view name, std::uint32_t line) {
  return shell_text(std::string{kUnsetBegin, kUnknown} + plain_name(name) + kUnsetEnd, line);
}

bool is_known(std::string_view text) {
  return text.find(kUnsetBegin) == std::string_view::npos;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_shell_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace goodput::launch
