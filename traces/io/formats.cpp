#include "traces/io/formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "sim/base/text.h"

namespace goodput {
namespace {

// With a byte order mark, or mostly ASCII: then every other byte is zero.
bool is_utf16(std::string_view head) {
  constexpr std::size_t kLookedAt = 32;
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) return true;
  std::array<std::size_t, 2> zeros{};  // at even and at odd places
  head = head.substr(0, kLookedAt);
  for (std::size_t i = 0; i < head.size(); ++i) zeros[i % 2] += head[i] == '\0' ? 1 : 0;
  return head.size() > 2 && std::min(zeros[0], zeros[1]) == 0 && zeros[0] + zeros[1] >= head.size() / 2;
}

// JSON may do so, and in binary data it means nothing.
bool ends_lines_with_cr_alone(std::string_view head) {
  const std::size_t end = head.find('\r');
  if (end == std::string_view::npos || end + 1 == head.size() || head.find('\n') != std::string_view::npos)
    return false;
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  return head.front() != '{' && head.front() != '[' && std::ranges::none_of(head, [](char c) {
           return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r';
         });
}

}  // namespace

std::string fault_of_encoding(std::string_view head) {
  if (is_utf16(head)) return "is UTF-16 text; save it as UTF-8";
  if (ends_lines_with_cr_alone(head))
    return "ends its lines with CR only; save it with LF or CRLF line endings";
  return {};
}

std::string_view without_leading_comments(std::string_view head) {
  std::string_view rest = head;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  if (!rest.starts_with('#')) return head;
  while (rest.find_first_of("#\r\n") == 0) rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  return rest;
}

Error no_known_format(std::string_view kind, std::span<const std::string_view> known, const std::string& path,
                      std::string_view head) {
  constexpr std::size_t kShownBytes = 24;
  return Error{
      fmt::format("is not in a known {} format ({}; see `goodput list formats`); it begins with {}", kind,
                  fmt::join(known, ", "), in_quotes(head.substr(0, std::min(head.find('\n'), kShownBytes)))),
      {.file = path}};
}

Error no_known_extension(const std::string& path, std::span<const std::string_view> extensions) {
  return Error{fmt::format("cannot tell the output format from the file name; use one of the extensions {}",
                           fmt::join(extensions, ", ")),
               {.file = path}};
}

}  // namespace goodput
