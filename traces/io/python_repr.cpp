#include "traces/io/python_repr.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace goodput {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::string_view kOpening = "([{";
constexpr std::string_view kClosing = ")]}";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Behind the string that begins at `at`, or nothing when it does not end.
std::optional<std::size_t> end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == quote) return at + 1;
    if (text[at] == '\\') ++at;
  }
  return std::nullopt;
}

}  // namespace

bool PythonCursor::accept(std::string_view literal) {
  if (!rest().starts_with(literal)) return false;
  position_ += literal.size();
  return true;
}

std::optional<std::int64_t> PythonCursor::integer() {
  std::int64_t value = 0;
  const std::string_view text = rest();
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{}) return std::nullopt;
  position_ += static_cast<std::size_t>(end - text.data());
  return value;
}

std::optional<double> PythonCursor::number() {
  double value = 0;
  const std::string_view text = rest();
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{}) return std::nullopt;
  position_ += static_cast<std::size_t>(end - text.data());
  return value;
}

std::optional<std::string_view> PythonCursor::string() {
  if (rest().empty() || (rest().front() != '\'' && rest().front() != '"')) return std::nullopt;
  const auto end = end_of_string(text_, position_);
  if (!end) return std::nullopt;
  const std::string_view value = text_.substr(position_ + 1, *end - position_ - 2);
  position_ = *end;
  return value;
}

std::optional<std::string_view> PythonCursor::name() {
  const std::string_view text = rest();
  const auto end = std::ranges::find_if_not(text, is_name_character);
  if (end == text.begin()) return std::nullopt;
  const std::string_view value(text.begin(), end);
  position_ += value.size();
  return value;
}

bool PythonCursor::skip_to(std::string_view stops) {
  std::array<char, kDeepest> awaited;  // closing brackets
  std::size_t depth = 0;
  for (std::size_t at = position_; at < text_.size();) {
    const char c = text_[at];
    if (depth == 0 && stops.find(c) != std::string_view::npos) {
      position_ = at;
      return true;
    }
    if (c == '\'' || c == '"') {
      const auto end = end_of_string(text_, at);
      if (!end) return false;
      at = *end;
      continue;
    }
    if (const auto bracket = kOpening.find(c); bracket != std::string_view::npos) {
      if (depth == kDeepest) return false;
      awaited[depth++] = kClosing[bracket];
    } else if (kClosing.find(c) != std::string_view::npos) {
      if (depth == 0 || awaited[--depth] != c) return false;
    }
    ++at;
  }
  return false;
}

}  // namespace goodput
