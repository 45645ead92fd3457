#include "tools/web/request_target.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

struct Utf8Range {
  std::size_t followers = 0;
  unsigned char least = 0x80, most = 0xbf;  // of the first follower
};

// By the table of well-formed byte sequences of the Unicode standard (3-7): no overlong forms, no surrogates.
std::optional<Utf8Range> utf8_range(unsigned char first) {
  if (first < 0x80) return Utf8Range{};
  if (first >= 0xc2 && first <= 0xdf) return Utf8Range{1};
  if (first == 0xe0) return Utf8Range{2, 0xa0, 0xbf};
  if (first == 0xed) return Utf8Range{2, 0x80, 0x9f};
  if (first >= 0xe1 && first <= 0xef) return Utf8Range{2};
  if (first == 0xf0) return Utf8Range{3, 0x90, 0xbf};
  if (first == 0xf4) return Utf8Range{3, 0x80, 0x8f};
  if (first >= 0xf1 && first <= 0xf3) return Utf8Range{3};
  return std::nullopt;
}

// Text of UTF-8 without control characters.
bool is_plain_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at++]);
    if (first < 0x20 || first == 0x7f) return false;
    const std::optional<Utf8Range> range = utf8_range(first);
    if (!range || text.size() - at < range->followers) return false;
    for (std::size_t follower = 0; follower < range->followers; ++follower) {
      const auto byte = static_cast<unsigned char>(text[at++]);
      if (byte < (follower == 0 ? range->least : 0x80) || byte > (follower == 0 ? range->most : 0xbf)) {
        return false;
      }
    }
  }
  return true;
}

enum class Plus : std::uint8_t { kItself, kSpace };

std::optional<std::string> percent_decoded(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '+' && plus == Plus::kSpace) {
      decoded += ' ';
    } else if (text[at] != '%') {
      decoded += text[at];
    } else {
      if (text.size() - at < 3) return std::nullopt;
      const int high = hex_value(text[at + 1]);
      const int low = hex_value(text[at + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      at += 2;
    }
  }
  if (!is_plain_text(decoded)) return std::nullopt;
  return decoded;
}

std::optional<std::string> decoded_path(std::string_view text) {
  if (text.empty() || text.front() != '/') return std::nullopt;
  std::string path;
  const std::vector<std::string_view> segments = split(text.substr(1), '/');
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::optional<std::string> segment = percent_decoded(segments[i], Plus::kItself);
    if (!segment || segment->find_first_of("/\\") != std::string::npos) return std::nullopt;
    if (*segment == "." || *segment == ".." || (segment->empty() && i + 1 < segments.size())) {
      return std::nullopt;
    }
    path += '/';
    path += *segment;
  }
  return path;
}

}  // namespace

std::optional<RequestTarget> parse_request_target(std::string_view target) {
  if (target.size() > kMostTargetBytes || target.find('#') != std::string_view::npos) return std::nullopt;
  const std::size_t mark = target.find('?');
  std::optional<std::string> path = decoded_path(target.substr(0, mark));
  if (!path) return std::nullopt;
  RequestTarget parsed{*std::move(path), {}};
  if (mark == std::string_view::npos) return parsed;
  const std::vector<std::string_view> pairs = split(target.substr(mark + 1), '&');
  if (pairs.size() > kMostParameters) return std::nullopt;
  for (const std::string_view pair : pairs) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    std::optional<std::string> name = percent_decoded(pair.substr(0, equals), Plus::kSpace);
    std::optional<std::string> value =
        percent_decoded(equals == std::string_view::npos ? "" : pair.substr(equals + 1), Plus::kSpace);
    if (!name || !value) return std::nullopt;
    parsed.query.insert_or_assign(*std::move(name), *std::move(value));
  }
  return parsed;
}

std::optional<AbsoluteTarget> split_absolute_target(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (!equals_lower(kScheme, target.substr(0, kScheme.size()))) return std::nullopt;
  target.remove_prefix(kScheme.size());
  const std::size_t end = std::min(target.find_first_of("/?#"), target.size());
  std::string origin_form = target.substr(end).starts_with('/') ? "" : "/";
  origin_form += target.substr(end);
  return AbsoluteTarget{target.substr(0, end), std::move(origin_form)};
}

}  // namespace goodput
