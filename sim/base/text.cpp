#include "sim/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace goodput {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the optimal-string-alignment table.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(previous);
    previous.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, substitute});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestName = 64;  // beyond, it is not a misspelling
  if (name.size() > kLongestName) return {};
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::string_view nearest;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest.empty() ? std::string{} : fmt::format("; did you mean \"{}\"?", nearest);
}

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return line;
}

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kLongestShown = 60;
  const std::string shown = on_one_line(name.substr(0, kLongestShown));
  if (name.size() <= kLongestShown) return fmt::format("\"{}\"", shown);
  return fmt::format("\"{}...\" ({} characters)", shown, name.size());
}

std::string fault_of_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  if (!name.empty() && name.size() <= kLongest && on_one_line(name) == name) return {};
  return fmt::format("is not a valid name; a name must have 1 to {} characters on one line", kLongest);
}

bool equals_lower(std::string_view lower, std::string_view text) {
  const auto lowered = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(lower, text, {}, {}, lowered);
}

}  // namespace goodput
