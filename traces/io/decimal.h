// Seconds as decimal text, read and written without loss for float32 and float64 alike.
//
// A file of decimals does not say which float type it came from, and the nearest double of a float32's
// shortest decimal (2.6883304) is not that float32. So: a file whose every time is written as a float32 is
// holds float32 values, any other file holds float64 values. A float32 is written as its shortest decimal, or
// exactly when it lies halfway between two of these (36.1796875). A decimal with 10 significant digits or
// more, zeros at the end of a fraction included (but for ".0"), is never written for a float32.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace goodput {

// digits * 10^exponent, as written.
struct Decimal {
  std::uint64_t digits = 0;  // meaningless beyond 19 written digits
  int exponent = 0;
  int written = 0;  // significant digits written, among them zeros at the end of a fraction other than ".0"
  double value = 0;
};

// The decimal at the start of `text` when it is of the plain form -?D+(.D+)?: `length` says how much of the
// text it is. Nothing for any other form, and for more digits than a double tells exactly: parse_decimal()
// then decides. REQUIRES: the character at text + (length) can be read, whatever the length: the text ends
// with a non-digit.
struct PlainDecimal {
  Decimal decimal;
  std::size_t length = 0;
};
[[nodiscard]] std::optional<PlainDecimal> scan_plain_decimal(const char* text);

// All of `text` as a decimal, exponents, "inf" and "nan" included. Nothing when it is no number or overflows
// a double.
[[nodiscard]] std::optional<Decimal> parse_decimal(std::string_view text);

// Whether a float32 is written like this.
[[nodiscard]] bool is_written_float32(const Decimal& decimal);

// Appends the shortest decimal that rounds to `value` (as the float32 it must be, or as a double), laid out
// as Python's repr() does: 0.0, 12.5, 0.0001, 9.8e-05. `least_written`: pad with zeros to so many significant
// digits.
void append_float32(std::string& text, float value);
void append_float64(std::string& text, double value, int least_written = 0);

}  // namespace goodput
