#include "traces/follow/log_name.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::string_view kCompressedSuffixes[] = {".gz", ".zst", ".zstd"};
constexpr std::string_view kTextSuffixes[] = {".log", ".csv"};
constexpr std::string_view kTemporarySuffixes[] = {".tmp", ".temp", ".part", ".partial",
                                                   ".swp", "~",     ".lock"};
constexpr std::size_t kMostAgeDigits = 4;  // more are a date or a process

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view without_compression(std::string_view path) {
  for (const std::string_view suffix : kCompressedSuffixes) {
    if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

// What stands behind the last `.` or `-` that begins a number or a date: "20240501", "2024-05-01", "3".
std::string_view number_at_end(std::string_view path) {
  std::size_t begin = path.size();
  while (begin > 0 && (is_digit(path[begin - 1]) || path[begin - 1] == '-' || path[begin - 1] == '_'))
    --begin;
  while (begin < path.size() && !is_digit(path[begin])) ++begin;
  const bool is_apart = begin > 0 && (path[begin - 1] == '.' || path[begin - 1] == '-');
  return is_apart ? path.substr(begin) : std::string_view();
}

bool is_named_as_text(std::string_view path) {
  return std::ranges::any_of(kTextSuffixes, [&](std::string_view suffix) {
    return path.size() >= suffix.size() && equals_lower(suffix, path.substr(path.size() - suffix.size()));
  });
}

}  // namespace

bool LogName::is_older_than(const LogName& other) const {
  if (date.empty() != other.date.empty()) return !date.empty();
  return std::tuple(std::string_view(date), other.age) < std::tuple(std::string_view(other.date), age);
}

LogName parse_log_name(std::string_view path) {
  LogName name;
  path = without_compression(path);
  const std::string_view number = number_at_end(path);
  const std::string_view before = number.empty() ? path : path.substr(0, path.size() - number.size() - 1);
  if (number.empty() || !is_named_as_text(before)) {
    name.log = path;
    name.is_text = is_named_as_text(path);
    return name;
  }
  name.log = before;
  name.is_text = true;
  if (number.size() <= kMostAgeDigits && std::ranges::all_of(number, is_digit)) {
    std::from_chars(number.data(), number.data() + number.size(), name.age);
  } else {
    name.date = number;
  }
  return name;
}

bool comes_before(const LogName& a, const LogName& b) {
  return a.log != b.log ? a.log < b.log : a.is_older_than(b);
}

bool is_left_alone(std::string_view name) {
  return name.starts_with('.') || std::ranges::any_of(kTemporarySuffixes, [&](std::string_view suffix) {
           return name.ends_with(suffix);
         });
}

}  // namespace goodput
