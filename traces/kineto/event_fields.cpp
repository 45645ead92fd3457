#include "traces/kineto/event_fields.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "sim/base/text.h"
#include "traces/io/json_scan.h"

namespace goodput {
namespace {

constexpr int kAnyDepth = std::numeric_limits<int>::max();

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// Whether a number or word ends before this character.
constexpr auto kEndsScalar = [] {
  std::array<bool, 256> ends{};
  for (const char c : {',', '}', ']', '{', '[', '"', ':', ' ', '\n', '\t', '\r'}) {
    ends[static_cast<unsigned char>(c)] = true;
  }
  return ends;
}();

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Behind the closing quote of the string whose first character is at `at`; null if there is none.
const char* behind_string(const char* at, const char* end) {
  while ((at = find_quote_or_backslash(at, end)) != end) {
    if (*at == '"') return at + 1;
    if (end - at < 2) break;
    at += 2;
  }
  return nullptr;
}

std::string_view text_between(const char* begin, const char* end) {
  while (end != begin && is_blank(end[-1])) --end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

// A JSON number in its parts.
struct NumberText {
  bool is_negative = false;
  std::string_view whole;
  std::string_view fraction;
  int exponent = 0;  // kept within what matters
};

constexpr int kMostExponent = 1'000'000;

std::string_view leading_digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return text.substr(0, count);
}

bool take_character(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<NumberText> number_text(std::string_view text) {
  NumberText number;
  number.is_negative = take_character(text, "-");
  number.whole = leading_digits(text);
  text.remove_prefix(number.whole.size());
  if (number.whole.empty() || (number.whole.size() > 1 && number.whole.front() == '0')) return std::nullopt;
  if (take_character(text, ".")) {
    number.fraction = leading_digits(text);
    text.remove_prefix(number.fraction.size());
    if (number.fraction.empty()) return std::nullopt;
  }
  if (take_character(text, "eE")) {
    const bool is_negative = !text.empty() && text.front() == '-';
    take_character(text, "+-");
    const std::string_view digits = leading_digits(text);
    text.remove_prefix(digits.size());
    if (digits.empty()) return std::nullopt;
    for (const char c : digits) number.exponent = std::min(10 * number.exponent + (c - '0'), kMostExponent);
    if (is_negative) number.exponent = -number.exponent;
  }
  if (!text.empty()) return std::nullopt;
  return number;
}

constexpr std::uint64_t kMostMagnitude = std::uint64_t{1} << 63;  // of the lowest 64-bit integer

std::optional<std::uint64_t> with_digit(std::uint64_t value, unsigned digit) {
  if (value > (kMostMagnitude - digit) / 10) return std::nullopt;
  return 10 * value + digit;
}

std::optional<std::int64_t> with_sign(std::uint64_t magnitude, bool is_negative) {
  if (magnitude > kMostMagnitude || (magnitude == kMostMagnitude && !is_negative)) return std::nullopt;
  return static_cast<std::int64_t>(is_negative ? 0 - magnitude : magnitude);
}

constexpr std::size_t kSafeDigits = 18;  // that many always fit into 64 bits

// As nanoseconds_of_microseconds(), for the form in which Kineto writes them: up to 15 digits, and three
// behind a point. Nothing for any other form.
std::optional<std::int64_t> plain_nanoseconds(std::string_view text) {
  constexpr std::size_t kFraction = 3;
  if (text.size() < 2 + kFraction || text.size() > kSafeDigits + 1) return std::nullopt;
  const std::size_t point = text.size() - kFraction - 1;
  if (text[point] != '.' || (text.front() == '0' && point > 1)) return std::nullopt;
  std::int64_t value = 0;
  bool is_plain = true;
  const auto add = [&](char c) {
    is_plain = is_plain && is_digit(c);
    value = 10 * value + (c - '0');
  };
  for (const char c : text.substr(0, point)) add(c);
  for (const char c : text.substr(point + 1)) add(c);
  return is_plain ? std::optional(value) : std::nullopt;
}

// Of the four hexadecimal digits of \uXXXX.
std::optional<std::uint32_t> hexadecimal(std::string_view digits) {
  if (digits.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : digits.substr(0, 4)) {
    constexpr std::string_view kLower = "0123456789abcdef";
    constexpr std::string_view kUpper = "0123456789ABCDEF";
    const std::size_t digit = std::min(kLower.find(c), kUpper.find(c));
    if (digit == std::string_view::npos) return std::nullopt;
    value = 16 * value + static_cast<std::uint32_t>(digit);
  }
  return value;
}

void append_utf8(std::string& text, std::uint32_t point) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xc0 | (point >> 6));
    add(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    add(0xe0 | (point >> 12));
    add(0x80 | ((point >> 6) & 0x3f));
    add(0x80 | (point & 0x3f));
  } else {
    add(0xf0 | (point >> 18));
    add(0x80 | ((point >> 12) & 0x3f));
    add(0x80 | ((point >> 6) & 0x3f));
    add(0x80 | (point & 0x3f));
  }
}

// Takes the escape that `text` begins with, a backslash, off its front. Returns whether it was one.
bool take_escape(std::string_view& text, std::string& into) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  constexpr std::uint32_t kReplacement = 0xfffd;
  if (text.size() < 2) return false;
  const std::size_t name = kNames.find(text[1]);
  const bool is_code = text[1] == 'u';
  text.remove_prefix(2);
  if (name != std::string_view::npos) {
    into += kMeanings[name];
    return true;
  }
  const auto code = is_code ? hexadecimal(text) : std::nullopt;
  if (!code) return false;
  text.remove_prefix(4);
  std::uint32_t point = *code;
  if (point >= 0xd800 && point < 0xdc00 && text.starts_with("\\u")) {
    const auto low = hexadecimal(text.substr(2));
    if (low && *low >= 0xdc00 && *low < 0xe000) {
      point = 0x10000 + ((point - 0xd800) << 10) + (*low - 0xdc00);
      text.remove_prefix(6);
    }
  }
  append_utf8(into, point >= 0xd800 && point < 0xe000 ? kReplacement : point);
  return true;
}

}  // namespace

EventFields::EventFields(std::string_view object) : at_(object.data()), end_(object.data() + object.size()) {
  open_ = 1;
  if (!take('{')) damage();
}

void EventFields::skip_blanks() {
#if defined(__SSE2__)
  if (end_ - at_ >= 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_));
    const auto is = [&](char c) { return _mm_cmpeq_epi8(text, _mm_set1_epi8(c)); };
    const __m128i blank = _mm_or_si128(_mm_or_si128(is(' '), is('\n')), _mm_or_si128(is('\t'), is('\r')));
    at_ += std::countr_one(static_cast<std::uint32_t>(_mm_movemask_epi8(blank)));
  }
#endif
  while (at_ != end_ && is_blank(*at_)) ++at_;
}

bool EventFields::take(char wanted) {
  if (at_ == end_ || *at_ != wanted) return false;
  ++at_;
  return true;
}

void EventFields::damage() {
  is_damaged_ = true;
  at_value_ = false;
}

std::string_view EventFields::rest() const {
  return {at_, static_cast<std::size_t>(end_ - at_)};
}

std::optional<std::string_view> EventFields::next() {
  if (at_value_) static_cast<void>(value());
  if (is_damaged_ || open_ == 0) return std::nullopt;
  skip_space();
  if (take('}')) {
    at_first_ = false;
    if (--open_ == 0 && at_ != end_) damage();
    return std::nullopt;
  }
  if (!at_first_) {
    if (!take(',')) {
      damage();
      return std::nullopt;
    }
    skip_space();
  }
  const char* const begin = at_;
  if (!take('"')) {
    damage();
    return std::nullopt;
  }
  const char* const behind = behind_string(at_, end_);
  if (behind == nullptr) {
    damage();
    return std::nullopt;
  }
  at_ = behind;
  skip_space();
  if (!take(':')) {
    damage();
    return std::nullopt;
  }
  skip_space();
  at_first_ = false;
  at_value_ = true;
  return std::string_view(begin + 1, static_cast<std::size_t>(behind - begin - 2));
}

bool EventFields::enter() {
  if (!at_value_ || !take('{')) return false;
  ++open_;
  at_first_ = true;
  at_value_ = false;
  return true;
}

// Of a number or word.
std::string_view EventFields::scalar() {
  const char* const begin = at_;
  while (at_ != end_ && !kEndsScalar[static_cast<unsigned char>(*at_)]) ++at_;
  if (at_ == begin) damage();
  return {begin, static_cast<std::size_t>(at_ - begin)};
}

std::string_view EventFields::value() {
  if (!at_value_) return {};
  at_value_ = false;
  if (at_ == end_) {
    damage();
    return {};
  }
  if (*at_ != '"' && *at_ != '{' && *at_ != '[') return scalar();
  const bool is_string = *at_ == '"';
  const char* const behind = is_string ? behind_string(at_ + 1, end_) : behind_brackets(at_, end_);
  if (behind == nullptr || (*at_ == '{') != (behind[-1] == '}')) {
    damage();
    return {};
  }
  const std::string_view text(at_, static_cast<std::size_t>(behind - at_));
  at_ = behind;
  return text;
}

std::optional<std::vector<std::string_view>> json_items(std::string_view array) {
  if (array.size() < 2 || array.front() != '[' || array.back() != ']') return std::nullopt;
  std::vector<std::string_view> items;
  const char* at = array.data() + 1;
  const char* const end = array.data() + array.size() - 1;
  while (true) {
    while (at != end && is_blank(*at)) ++at;
    JsonScan scan;
    const char* const stop = scan.advance(at, end, kAnyDepth);
    if (!scan.started && stop == end && items.empty()) return items;
    if (!scan.started || !scan.is_whole() || (stop != end && *stop != ',')) return std::nullopt;
    items.push_back(text_between(at, stop));
    if (stop == end) return items;
    at = stop + 1;
  }
}

std::optional<std::int64_t> nanoseconds_of_microseconds(std::string_view text) {
  if (const auto value = plain_nanoseconds(text)) return value;
  const auto number = number_text(text);
  if (!number) return std::nullopt;
  // Of the digits, whole and fraction together, so many are nanoseconds.
  const std::int64_t whole_digits = std::int64_t(number->whole.size()) + number->exponent + 3;
  const std::int64_t digits = std::int64_t(number->whole.size() + number->fraction.size());
  const auto digit_at = [&](std::int64_t index) {
    const auto at = static_cast<std::size_t>(index);
    const bool in_whole = at < number->whole.size();
    const char c = in_whole ? number->whole[at] : number->fraction[at - number->whole.size()];
    return static_cast<unsigned>(c - '0');
  };
  std::uint64_t value = 0;
  for (std::int64_t i = 0; i < std::min(whole_digits, digits); ++i) {
    const auto next = with_digit(value, digit_at(i));
    if (!next) return std::nullopt;
    value = *next;
  }
  for (std::int64_t i = digits; i < whole_digits && value != 0; ++i) {
    const auto next = with_digit(value, 0);
    if (!next) return std::nullopt;
    value = *next;
  }
  if (whole_digits >= 0 && whole_digits < digits && digit_at(whole_digits) >= 5) ++value;
  return with_sign(value, number->is_negative);
}

std::optional<std::int64_t> json_integer(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    if (text.size() <= kSafeDigits) {
      value = 10 * value + static_cast<unsigned>(c - '0');
      continue;
    }
    const auto next = with_digit(value, static_cast<unsigned>(c - '0'));
    if (!next) return std::nullopt;
    value = *next;
  }
  return with_sign(value, is_negative);
}

std::optional<std::string_view> JsonStrings::read(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const char* const end = text.data() + text.size();
  const char* at = find_quote_or_backslash(text.data(), end);
  if (at == end) return text;
  unescaped_.clear();
  while (true) {
    unescaped_.append(text.data(), at);
    text.remove_prefix(static_cast<std::size_t>(at - text.data()));
    if (text.empty()) return unescaped_;
    if (text.front() == '"' || !take_escape(text, unescaped_)) return std::nullopt;
    at = find_quote_or_backslash(text.data(), end);
  }
}

std::string describe_json(std::string_view value) {
  if (value.empty()) return "nothing";
  if (value.front() == '"') return "a string";
  if (value.front() == '{') return "an object";
  if (value.front() == '[') return "an array";
  if (value == "true" || value == "false") return "true or false";
  if (value == "null") return "null";
  return in_quotes(value);
}

}  // namespace goodput
