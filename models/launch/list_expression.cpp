#include "models/launch/list_expression.h"

#include <cctype>
#include <string>

#include "sim/base/text.h"

namespace goodput::launch {
namespace {

constexpr std::size_t kMostElements = 10'000;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::string without_blanks(std::string_view text) {
  std::string result(text);
  std::erase_if(result, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  return result;
}

// The number behind a '*' at the front of `rest`, which is removed; 1: there is none. None: it is absurd.
std::optional<std::size_t> take_repeats(std::string_view& rest) {
  if (!rest.starts_with('*')) return 1;
  std::size_t end = 1;
  while (end < rest.size() && is_digit(rest[end])) ++end;
  const auto repeats = parse_integer(rest.substr(1, end - 1));
  if (!repeats || *repeats < 0 || *repeats > static_cast<std::int64_t>(kMostElements)) return std::nullopt;
  rest.remove_prefix(end);
  return static_cast<std::size_t>(*repeats);
}

// "t*3" and "(tt|)*2" written out. None: another syntax.
std::optional<std::string> written_out(std::string_view& rest, int depth) {
  std::string result;
  while (!rest.empty() && rest.front() != ')') {
    std::string part;
    if (rest.front() == '(') {
      rest.remove_prefix(1);
      const auto inner = depth < 8 ? written_out(rest, depth + 1) : std::nullopt;
      if (!inner || !rest.starts_with(')')) return std::nullopt;
      part = *inner;
    } else {
      part = rest.front();
    }
    rest.remove_prefix(1);
    const auto repeats = take_repeats(rest);
    if (!repeats || result.size() + *repeats * part.size() > 4 * kMostElements) return std::nullopt;
    for (std::size_t i = 0; i < *repeats; ++i) result += part;
  }
  return result;
}

}  // namespace

std::optional<std::vector<std::int64_t>> list_of_integers(std::string_view text) {
  std::string compact = without_blanks(text);
  std::string_view rest = compact;
  while (rest.starts_with('(') && rest.ends_with(')')) rest = rest.substr(1, rest.size() - 2);
  std::vector<std::int64_t> result;
  while (true) {
    const std::size_t close = rest.find(']');
    if (!rest.starts_with('[') || close == std::string_view::npos) return std::nullopt;
    std::vector<std::int64_t> part;
    for (const std::string_view element : split(rest.substr(1, close - 1), ',')) {
      if (element.empty()) continue;
      const auto number = parse_integer(element);
      if (!number) return std::nullopt;
      part.push_back(*number);
    }
    rest.remove_prefix(close + 1);
    const auto repeats = take_repeats(rest);
    if (!repeats || result.size() + *repeats * part.size() > kMostElements) return std::nullopt;
    for (std::size_t i = 0; i < *repeats; ++i) result.insert(result.end(), part.begin(), part.end());
    if (rest.empty()) return result;
    if (!rest.starts_with('+')) return std::nullopt;
    rest.remove_prefix(1);
  }
}

std::optional<std::vector<std::int32_t>> layers_of_layout(std::string_view text) {
  std::string compact = without_blanks(text);
  std::erase(compact, ',');
  std::string_view rest = compact;
  const auto parts = written_out(rest, 0);
  if (!parts || !rest.empty()) return std::nullopt;
  std::vector<std::int32_t> layers{0};
  for (const char c : *parts) {
    if (c == '|')
      layers.push_back(0);
    else if (c == 't')
      ++layers.back();
    else if (c != 'E' && c != 'L' && c != 'm')
      return std::nullopt;
  }
  if (layers.size() > kMostElements) return std::nullopt;
  return layers;
}

}  // namespace goodput::launch
