#include "traces/faults/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::size_t kMostHosts = 1'000'000;

Error not_a_host_list(std::string_view text) {
  return Error{fmt::format("node names must be like n[001-057,059],login1, not {}", in_quotes(text))};
}

// The parts between commas that are outside brackets.
std::vector<std::string_view> names_between_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (text[i] == '[') {
      ++depth;
    } else if (text[i] == ']') {
      --depth;
    }
  }
  return parts;
}

std::optional<std::uint64_t> all_digits(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "001-057", "7", with leading zeros kept.
bool add_range(std::string_view range, std::vector<std::string>& values) {
  const std::size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
  const auto first = all_digits(low);
  const auto last = all_digits(high);
  if (!first || !last || *last < *first || *last - *first >= kMostHosts) return false;
  for (std::uint64_t value = *first; value <= *last; ++value)
    values.push_back(fmt::format("{:0{}}", value, low.size()));
  return true;
}

// One name with any number of brackets: rack[1-2]n[01-16].
Status expand_name(std::string_view name, std::vector<std::string>& names) {
  std::vector<std::string> found = {""};
  std::string_view left = name;
  while (!left.empty()) {
    const std::size_t open = std::min(left.find('['), left.size());
    for (std::string& one : found) one += left.substr(0, open);
    left.remove_prefix(open);
    if (left.empty()) break;
    const std::size_t close = left.find(']');
    if (close == std::string_view::npos) return not_a_host_list(name);
    std::vector<std::string> values;
    for (const std::string_view range : split(left.substr(1, close - 1), ',')) {
      if (!add_range(range, values)) return not_a_host_list(name);
    }
    left.remove_prefix(close + 1);
    if (found.size() * values.size() + names.size() > kMostHosts)
      return Error{
          fmt::format("{} is more than {} nodes; is it the right file?", in_quotes(name), kMostHosts)};
    std::vector<std::string> longer;
    for (const std::string& one : found) {
      for (const std::string& value : values) longer.push_back(one + value);
    }
    found = std::move(longer);
  }
  names.insert(names.end(), found.begin(), found.end());
  return Ok{};
}

}  // namespace

Result<std::vector<std::string>> expand_host_list(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view name : names_between_commas(text)) {
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name.empty()) return not_a_host_list(text);
    GOODPUT_TRY_STATUS(expand_name(name, names));
  }
  return names;
}

}  // namespace goodput
