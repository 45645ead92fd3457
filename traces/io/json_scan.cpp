#include "traces/io/json_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace goodput {
namespace {

enum class JsonKind : unsigned char { kOther, kSpace, kQuote, kOpen, kClose, kComma };

constexpr auto kJsonKinds = [] {
  std::array<JsonKind, 256> kinds{};
  for (const char c : {' ', '\t', '\r', '\n'}) kinds[static_cast<unsigned char>(c)] = JsonKind::kSpace;
  for (const char c : {'{', '['}) kinds[static_cast<unsigned char>(c)] = JsonKind::kOpen;
  for (const char c : {'}', ']'}) kinds[static_cast<unsigned char>(c)] = JsonKind::kClose;
  kinds['"'] = JsonKind::kQuote;
  kinds[','] = JsonKind::kComma;
  return kinds;
}();

JsonKind json_kind_of(char c) {
  return kJsonKinds[static_cast<unsigned char>(c)];
}

constexpr std::ptrdiff_t kBlockBytes = 64;
constexpr int kAnyDepth = std::numeric_limits<int>::max();

// Where a scan stopped.
struct Stop {
  const char* at = nullptr;
  bool is_end = false;  // `at` ends the element; otherwise the scan continues there
};

// Scans character by character, at most past the bracket that opens or closes the element.
Stop scan_characters(JsonScan& scan, const char* at, const char* end, int max_depth) {
  for (; at != end; ++at) {
    if (scan.escaped) {
      scan.escaped = false;
      continue;
    }
    if (scan.in_string) {
      at = find_quote_or_backslash(at, end);
      if (at == end) break;
      scan.escaped = *at == '\\';
      scan.in_string = scan.escaped;
      continue;
    }
    switch (json_kind_of(*at)) {
      case JsonKind::kOther:
      case JsonKind::kSpace:
        break;
      case JsonKind::kQuote:
        scan.in_string = true;
        break;
      case JsonKind::kComma:
        if (scan.depth == 0) return {at, true};
        break;
      case JsonKind::kOpen:
        if (++scan.depth > max_depth) return {at, true};
        if (scan.depth == 1) return {at + 1, false};
        break;
      case JsonKind::kClose:
        if (scan.depth-- == 0) return {at, true};
        if (scan.depth == 0) return {at + 1, false};
        break;
    }
  }
  return {at, false};
}

#if defined(__SSE2__)

// One bit per character; the first character is the lowest bit.
struct BlockMasks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t opens = 0;
  std::uint64_t closes = 0;
};

BlockMasks masks_of(const char* block) {
  constexpr char kCurlyBit = 0x20;  // '{' is '[' with this bit, '}' is ']' with it
  BlockMasks masks;
  for (std::size_t part = 0; part < 4; ++part) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * part));
    const __m128i curly = _mm_or_si128(text, _mm_set1_epi8(kCurlyBit));
    const auto bits = [&](__m128i characters, char wanted) {
      const int equal = _mm_movemask_epi8(_mm_cmpeq_epi8(characters, _mm_set1_epi8(wanted)));
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(equal)) << (16 * part);
    };
    masks.quotes |= bits(text, '"');
    masks.backslashes |= bits(text, '\\');
    masks.opens |= bits(curly, '{');
    masks.closes |= bits(curly, '}');
  }
  return masks;
}

// Sets the bits from each opening quote up to, but without, its closing quote.
std::uint64_t between_quotes(std::uint64_t quotes) {
  for (int shift = 1; shift < kBlockBytes; shift *= 2) quotes ^= quotes << shift;
  return quotes;
}

// Scans block by block, at most past the bracket that closes the element. Leaves blocks with backslashes and
// the rest at the end to scan_characters(). REQUIRES: depth > 0, !escaped.
Stop scan_blocks(JsonScan& scan, const char* at, const char* end, int max_depth) {
  int depth = scan.depth;
  std::uint64_t in_string = scan.in_string ? ~std::uint64_t{0} : 0;
  for (; end - at >= kBlockBytes; at += kBlockBytes) {
    const BlockMasks masks = masks_of(at);
    if (masks.backslashes != 0) break;
    const std::uint64_t strings = between_quotes(masks.quotes) ^ in_string;
    std::uint64_t brackets = (masks.opens | masks.closes) & ~strings;
    for (; brackets != 0; brackets &= brackets - 1) {
      const int index = std::countr_zero(brackets);
      const bool opens = ((masks.opens >> index) & 1) != 0;
      depth += opens ? 1 : -1;
      if (depth > 0 && depth <= max_depth) [[likely]]
        continue;
      scan.depth = depth;
      scan.in_string = false;
      return {at + index + (opens ? 0 : 1), opens};
    }
    in_string = (strings >> 63) != 0 ? ~std::uint64_t{0} : 0;
  }
  scan.depth = depth;
  scan.in_string = in_string != 0;
  return {at, false};
}

#endif

// Scans at least one character.
// REQUIRES: at != end.
Stop scan_piece(JsonScan& scan, const char* at, const char* end, int max_depth) {
#if defined(__SSE2__)
  if (scan.depth > 0 && !scan.escaped) {
    const Stop stop = scan_blocks(scan, at, end, max_depth);
    if (stop.is_end || stop.at != at) return stop;
  }
#endif
  return scan_characters(scan, at, at + std::min(end - at, kBlockBytes), max_depth);
}

}  // namespace

const char* find_quote_or_backslash(const char* at, const char* end) {
#if defined(__SSE2__)
  for (; end - at >= 16; at += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i found =
        _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('"')), _mm_cmpeq_epi8(text, _mm_set1_epi8('\\')));
    const auto bits = static_cast<std::uint32_t>(_mm_movemask_epi8(found));
    if (bits != 0) return at + std::countr_zero(bits);
  }
#endif
  while (at != end && *at != '"' && *at != '\\') ++at;
  return at;
}

const char* behind_brackets(const char* at, const char* end) {
  JsonScan scan;
  Stop stop = scan_characters(scan, at, end, kAnyDepth);
  while (stop.at != end && !stop.is_end && scan.depth > 0) stop = scan_piece(scan, stop.at, end, kAnyDepth);
  return scan.depth == 0 && !stop.is_end ? stop.at : nullptr;
}

const char* JsonScan::advance(const char* at, const char* end, int max_depth) {
  while (at != end && !started && json_kind_of(*at) == JsonKind::kSpace) ++at;
  if (at == end) return end;
  if (json_kind_of(*at) != JsonKind::kComma && json_kind_of(*at) != JsonKind::kClose) started = true;
  JsonScan scan = *this;  // a local copy stays in registers
  Stop stop{at, false};
  while (stop.at != end && !stop.is_end) stop = scan_piece(scan, stop.at, end, max_depth);
  *this = scan;
  return stop.at;
}

}  // namespace goodput
