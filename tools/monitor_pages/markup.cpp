#include "tools/monitor_pages/markup.h"

#include <fmt/format.h>

#include <cstdint>

namespace goodput {
namespace {

struct DecodedCharacter {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8
};

// The first character of `text`, which is not empty (RFC 3629: nothing overlong, no surrogates).
DecodedCharacter first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80) return {};
    code = code << 6 | (next & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

// Unicode Standard Annex 9: embeddings, overrides, isolates and marks.
bool turns_direction(std::uint32_t code) {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0x200e ||
         code == 0x200f || code == 0x061c;
}

// Characters that are not seen at all, and line ends of Unicode; joiners stay, which scripts and emoji need.
bool is_invisible(std::uint32_t code) {
  return code == 0xad || code == 0x180e || code == 0x200b || (code >= 0x2060 && code <= 0x2064) ||
         code == 0xfeff || code == 0x2028 || code == 0x2029 || (code >= 0xe0000 && code <= 0xe007f);
}

bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

}  // namespace

std::string visible_text(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string visible;
  visible.reserve(text.size());
  while (!text.empty()) {
    const DecodedCharacter first = first_character(text);
    if (first.bytes == 0) {
      visible += kReplacement;
    } else if (is_control(first.code)) {
      visible += fmt::format("\\x{:02x}", first.code);
    } else if (turns_direction(first.code) || is_invisible(first.code)) {
      visible += fmt::format("\\u{:04x}", first.code);
    } else {
      visible += text.substr(0, first.bytes);
    }
    text.remove_prefix(first.bytes == 0 ? 1 : first.bytes);
  }
  return visible;
}

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : visible_text(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string html_name(std::string_view name) {
  return "<bdi>" + html_text(name) + "</bdi>";
}

std::string url_segment(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string encoded;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace goodput
