#include "traces/io/decimal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <system_error>

namespace goodput {
namespace {

constexpr int kMostExactPower = 22;  // 10^22 is the largest power of ten that is a double
constexpr std::array<double, kMostExactPower + 1> kPowersOf10 = [] {
  std::array<double, kMostExactPower + 1> powers{};
  powers[0] = 1;
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

constexpr int kMostFloat32Digits = 9;  // the shortest decimal of a float32 has no more
constexpr int kLeastFloat32Digits =
    6;  // a decimal of no more is the shortest of its float32, if that is normal
constexpr std::uint64_t kFloat32Always = 1'000'000;  // 10^kLeastFloat32Digits

constexpr int kAbsurdExponent = 1'000'000;
constexpr double kFloat32Limit = 1e18;  // beyond any time; keeps conversions and digit counts in range

bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

// How many of the `written` digits count: the zeros that end a whole number do not, nor does the fraction
// ".0".
int count_significant(std::string_view whole, std::string_view fraction) {
  const auto first = whole.find_first_not_of('0');
  const std::size_t whole_digits = first == std::string_view::npos ? 0 : whole.size() - first;
  if (!fraction.empty() && fraction != "0") {
    const auto leading_zeros =
        whole_digits > 0 ? 0 : std::min(fraction.find_first_not_of('0'), fraction.size());
    return static_cast<int>(std::min<std::size_t>(whole_digits + fraction.size() - leading_zeros, 1000));
  }
  const auto last = whole.find_last_not_of('0');
  return last == std::string_view::npos ? 0 : static_cast<int>(std::min<std::size_t>(last + 1 - first, 1000));
}

struct Parts {
  bool negative = false;
  std::string_view whole, fraction;
  int exponent = 0;
};

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// REQUIRES: std::from_chars accepts all of `text` as a finite number.
Parts split_decimal(std::string_view text) {
  Parts parts;
  if (text.starts_with('-')) {
    parts.negative = true;
    text.remove_prefix(1);
  }
  parts.whole = take_digits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    parts.fraction = take_digits(text);
  }
  if (text.empty()) return parts;
  text.remove_prefix(text.starts_with("e+") || text.starts_with("E+") ? 2 : 1);
  std::from_chars(text.data(), text.data() + text.size(), parts.exponent);
  parts.exponent = std::clamp(parts.exponent, -kAbsurdExponent, kAbsurdExponent);  // a zero may have any
  return parts;
}

struct ShortForm {
  std::uint64_t digits = 0;  // not a multiple of 10
  int exponent = 0;
  bool operator==(const ShortForm&) const = default;
};

ShortForm without_trailing_zeros(std::uint64_t digits, int exponent) {
  while (digits != 0 && digits % 10 == 0) {
    digits /= 10;
    ++exponent;
  }
  return {digits, exponent};
}

struct ShortestText {
  std::array<char, 32> buffer{};
  bool negative = false;
  std::string digits;  // without the point
  int exponent = 0;    // of the first digit
};

template <typename Float>
ShortestText shortest(Float value) {
  ShortestText text;
  text.negative = std::signbit(value);
  const auto [end, error] = std::to_chars(text.buffer.data(), text.buffer.data() + text.buffer.size(),
                                          std::abs(value), std::chars_format::scientific);
  const char* e = std::find(text.buffer.data(), end, 'e');
  for (const char* c = text.buffer.data(); c != e; ++c) {
    if (*c != '.') text.digits += *c;
  }
  const char* power = e + (e[1] == '+' ? 2 : 1);
  std::from_chars(power, end, text.exponent);
  return text;
}

// The rule itself, by printing. Slow; is_written_float32() asks only where arithmetic leaves it open.
bool prints_as(float value, const ShortForm& form) {
  if (!std::isfinite(value)) return false;
  const ShortestText text = shortest(value);
  std::uint64_t digits = 0;
  std::from_chars(text.digits.data(), text.digits.data() + text.digits.size(), digits);
  return without_trailing_zeros(digits, text.exponent - static_cast<int>(text.digits.size()) + 1) == form;
}

// True only when it is certain that `form` is the shortest and nearest decimal of `value`: its distance from
// the float32 is below half a unit of its last digit, and both decimals with one digit less lie outside the
// interval that rounds to the float32. Everything is in units of the last digit; fma gives the distance with
// one rounding.
bool is_surely_shortest(float value, const ShortForm& form) {
  constexpr std::uint32_t kExponentBits = 0x7f80'0000;
  constexpr std::uint32_t kFractionBits = 0x007f'ffff;
  constexpr double kHalfUlp = 0x1p-24;  // of 1.0f
  constexpr double kMargin = 1e-6;      // far above the rounding errors here, far below what is decided
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(std::abs(value));
  const bool power_of_two = (bits & kFractionBits) == 0;  // its interval is not symmetric
  const bool normal = (bits & kExponentBits) != 0 && (bits & kExponentBits) != kExponentBits;
  if (power_of_two || !normal || form.exponent > 0 || form.exponent < -kMostExactPower) return false;
  const double units = kPowersOf10[static_cast<std::size_t>(-form.exponent)];
  const double half_interval = double{std::bit_cast<float>(bits & kExponentBits)} * units * kHalfUlp;
  const double distance = std::fma(double{std::abs(value)}, units, -static_cast<double>(form.digits));
  const auto last_digit = static_cast<double>(form.digits % 10);
  return std::abs(distance) < 0.5 - kMargin && last_digit + distance > half_interval + kMargin &&
         10 - last_digit - distance > half_interval + kMargin;
}

// Replaces the decimal by the exact value when that has one digit more, a 5: then it lies halfway between two
// shortest decimals, and which of them a printer chooses is its taste.
void settle_tie(ShortestText& text, float value) {
  const int length = static_cast<int>(text.digits.size());
  const int power = length - text.exponent;  // value * 10^power has one digit more before the point
  if (length >= kMostFloat32Digits || power < 0 || power > kMostExactPower) return;
  std::int64_t digits = 0;
  std::from_chars(text.digits.data(), text.digits.data() + length, digits);
  for (const std::int64_t exact : {digits * 10 - 5, digits * 10 + 5}) {
    const double difference = std::fma(double{std::abs(value)}, kPowersOf10[static_cast<std::size_t>(power)],
                                       -static_cast<double>(exact));
    if (difference != 0) continue;
    const std::string exact_digits = std::to_string(exact);
    if (static_cast<int>(exact_digits.size()) == length + 1) text.digits = exact_digits;
    return;
  }
}

void append_laid_out(std::string& out, const ShortestText& text, int least_written) {
  constexpr int kLeastFixedExponent = -4;
  constexpr int kMostFixedExponent = 15;
  std::string digits = text.digits;
  const auto pad_to = [&digits](int size) {
    if (size > static_cast<int>(digits.size())) digits.resize(static_cast<std::size_t>(size), '0');
  };
  pad_to(least_written);
  if (text.negative) out += '-';
  const bool zero = digits.find_first_not_of('0') == std::string::npos;
  if (!zero && (text.exponent < kLeastFixedExponent || text.exponent > kMostFixedExponent)) {
    out += digits[0];
    if (digits.size() > 1) out.append(".").append(digits, 1);
    out += text.exponent < 0 ? "e-" : "e+";
    const int power = std::abs(text.exponent);
    if (power < 10) out += '0';
    out += std::to_string(power);
  } else if (text.exponent < 0) {
    out.append("0.").append(static_cast<std::size_t>(-text.exponent - 1), '0').append(digits);
  } else {
    pad_to(text.exponent + 2);  // at least one digit behind the point
    const auto whole = static_cast<std::size_t>(text.exponent) + 1;
    out.append(digits, 0, whole).append(".").append(digits, whole);
  }
}

}  // namespace

std::optional<PlainDecimal> scan_plain_decimal(const char* text) {
  constexpr std::int64_t kMostDigits = 15;  // any number of so many digits is a double
  const char* at = text;
  const bool negative = *at == '-';
  if (negative) ++at;
  PlainDecimal plain;
  Decimal& decimal = plain.decimal;
  const char* whole = at;
  for (; is_digit(*at); ++at) decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(*at - '0');
  const char* fraction = at;
  if (fraction == whole) return std::nullopt;
  if (*at == '.') {
    ++at;
    ++fraction;
    for (; is_digit(*at); ++at) decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(*at - '0');
    if (at == fraction) return std::nullopt;
  }
  if (at - whole > kMostDigits) return std::nullopt;
  decimal.exponent = -static_cast<int>(at - fraction);
  // The number of written digits matters from kFloat32Always on only, and below it is_written_float32() is
  // certain.
  if (decimal.digits >= kFloat32Always) {
    const std::size_t point = fraction != whole && fraction[-1] == '.' ? 1 : 0;
    decimal.written = count_significant({whole, static_cast<std::size_t>(fraction - whole) - point},
                                        {fraction, static_cast<std::size_t>(at - fraction)});
  }
  decimal.value =
      static_cast<double>(decimal.digits) / kPowersOf10[static_cast<std::size_t>(-decimal.exponent)];
  if (negative) decimal.value = -decimal.value;
  plain.length = static_cast<std::size_t>(at - text);
  return plain;
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal decimal;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), decimal.value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(decimal.value)) return decimal;
  const Parts parts = split_decimal(text);
  decimal.written = count_significant(parts.whole, parts.fraction);
  if (decimal.written > kMostFloat32Digits) return decimal;
  for (const std::string_view digits : {parts.whole, parts.fraction}) {
    for (const char c : digits) decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(c - '0');
  }
  decimal.exponent = parts.exponent - static_cast<int>(parts.fraction.size());
  return decimal;
}

bool is_written_float32(const Decimal& decimal) {
  if (decimal.written > kMostFloat32Digits || !(std::abs(decimal.value) < kFloat32Limit)) return false;
  const auto as_float32 = static_cast<float>(decimal.value);
  if (static_cast<double>(as_float32) == decimal.value) return true;
  if (decimal.digits < kFloat32Always && decimal.exponent >= -kMostExactPower && decimal.exponent <= 0)
    return true;
  const ShortForm form = without_trailing_zeros(decimal.digits, decimal.exponent);
  return is_surely_shortest(as_float32, form) || prints_as(as_float32, form);
}

void append_float32(std::string& text, float value) {
  ShortestText decimal = shortest(value);
  settle_tie(decimal, value);
  append_laid_out(text, decimal, 0);
}

void append_float64(std::string& text, double value, int least_written) {
  append_laid_out(text, shortest(value), least_written);
}

}  // namespace goodput
