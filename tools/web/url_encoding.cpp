#include "tools/web/url_encoding.h"

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

bool is_control(unsigned char byte, LineBreaks line_breaks) {
  const bool is_break = byte == '\t' || byte == '\n' || byte == '\r';
  return byte == 0x7f || (byte < 0x20 && !(is_break && line_breaks == LineBreaks::kAllowed));
}

}  // namespace

bool is_plain_text(std::string_view text, LineBreaks line_breaks) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at++]);
    if (is_control(first, line_breaks)) return false;
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

std::optional<std::string> percent_decoded(std::string_view text, Plus plus, LineBreaks line_breaks) {
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
  if (!is_plain_text(decoded, line_breaks)) return std::nullopt;
  return decoded;
}

std::optional<EncodedPairs> parse_pairs(std::string_view text, std::size_t most, LineBreaks line_breaks) {
  const std::vector<std::string_view> parts = split(text, '&');
  if (parts.size() > most) return std::nullopt;
  EncodedPairs pairs;
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    std::optional<std::string> name = percent_decoded(part.substr(0, equals), Plus::kSpace, line_breaks);
    std::optional<std::string> value = percent_decoded(
        equals == std::string_view::npos ? "" : part.substr(equals + 1), Plus::kSpace, line_breaks);
    if (!name || !value) return std::nullopt;
    pairs.emplace_back(*std::move(name), *std::move(value));
  }
  return pairs;
}

}  // namespace goodput
