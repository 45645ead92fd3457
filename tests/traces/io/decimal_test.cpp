// release-too: floating-point conversions.
#include "traces/io/decimal.h"

#include <doctest/doctest.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

namespace goodput {
namespace {

std::string written(float value) {
  std::string text;
  append_float32(text, value);
  return text;
}

std::string written(double value) {
  std::string text;
  append_float64(text, value);
  return text;
}

bool reads_as_float32(const std::string& text) {
  const auto decimal = parse_decimal(text);
  REQUIRE(decimal);
  return is_written_float32(*decimal);
}

// The rule by printing: the text has the digits that std::to_chars gives the float32, or is exactly the
// float32.
bool reads_as_float32_by_printing(const std::string& text) {
  const double value = std::stod(text);
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value) return true;
  char shortest[64];
  const auto [end, error] =
      std::to_chars(shortest, shortest + sizeof shortest, nearest, std::chars_format::fixed);
  return std::string(shortest, end) == text;
}

TEST_CASE("decimal: floats are laid out as Python does") {
  CHECK(written(0.0F) == "0.0");
  CHECK(written(-0.0F) == "-0.0");
  CHECK(written(1.0F) == "1.0");
  CHECK(written(12.5F) == "12.5");
  CHECK(written(0.1F) == "0.1");
  CHECK(written(0.0001F) == "0.0001");
  CHECK(written(9.8e-05F) == "9.8e-05");
  CHECK(written(1e-10F) == "1e-10");
  CHECK(written(2.6883304F) == "2.6883304");
  CHECK(written(16777216.0F) == "16777216.0");
  CHECK(written(1714564600.0F) == "1714564600.0");  // the float32 is 1714564608; eight digits find it
  CHECK(written(-0.125) == "-0.125");
  CHECK(written(0.1 + 0.2) == "0.30000000000000004");
  CHECK(written(1e16) == "1e+16");
}

TEST_CASE("decimal: a float32 halfway between two shortest decimals is written exactly") {
  // 36.1796875 = 4631 / 128: 36.179687 and 36.179688 are equally near.
  CHECK(written(36.1796875F) == "36.1796875");
  CHECK(written(2.29296875F) == "2.29296875");
}

TEST_CASE("decimal: padding adds zeros behind the last digit") {
  const auto padded = [](double value) {
    std::string text;
    append_float64(text, value, 10);
    return text;
  };
  CHECK(padded(0.1) == "0.1000000000");
  CHECK(padded(16777217) == "16777217.00");
  CHECK(padded(1e-7) == "1.000000000e-07");
  CHECK(padded(0.12345678901) == "0.12345678901");
}

TEST_CASE("decimal: what a float32 is written as") {
  CHECK(reads_as_float32("0"));
  CHECK(reads_as_float32("0.0"));
  CHECK(reads_as_float32("-0.0"));
  CHECK(reads_as_float32("0.1"));
  CHECK(reads_as_float32("0.500000"));
  CHECK(reads_as_float32("1e-05"));
  CHECK(reads_as_float32("1E-05"));
  CHECK(reads_as_float32("9.7990036e-05"));
  CHECK(reads_as_float32("2.6883304"));
  CHECK(reads_as_float32("36.1796875"));
  CHECK(reads_as_float32("36.179688"));  // as other printers write it
  CHECK(reads_as_float32("1714564600.0"));
  CHECK(reads_as_float32("0.103235245"));  // nine digits, as few float32 need
}

TEST_CASE("decimal: what no float32 is written as") {
  CHECK_FALSE(
      reads_as_float32("2.6883305"));  // float32 near 2.69 are 2.4e-7 apart: this one is written 2.6883304
  CHECK_FALSE(reads_as_float32("0.12345679012"));
  CHECK_FALSE(reads_as_float32("0.1000000000"));  // 10 digits
  CHECK_FALSE(reads_as_float32("16777217"));      // an integer between two float32
  CHECK_FALSE(reads_as_float32("16777217.00"));
  CHECK_FALSE(reads_as_float32("1714564800.5"));
  CHECK_FALSE(reads_as_float32("1e300"));
  CHECK_FALSE(reads_as_float32("nan"));
  CHECK_FALSE(reads_as_float32("inf"));
}

TEST_CASE("decimal: the rule agrees with printing on random decimals") {
  const std::uint64_t seed = 20240501;
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  int as_float32 = 0;
  for (int i = 0; i < 200'000; ++i) {
    // d.ddd to dddd.ddddd with 4 to 9 digits; the last is no 0, as in a shortest decimal.
    const auto digits = 4 + random() % 6;
    std::string text = std::to_string(1 + random() % 9);
    while (text.size() < digits - 1) text += static_cast<char>('0' + random() % 10);
    text += static_cast<char>('1' + random() % 9);
    text.insert(1 + random() % 3, ".");
    const bool expected = reads_as_float32_by_printing(text);
    as_float32 += expected ? 1 : 0;
    INFO(text);
    REQUIRE(reads_as_float32(text) == expected);
    const auto plain = scan_plain_decimal((text + ",").c_str());
    REQUIRE(plain);
    REQUIRE(plain->length == text.size());
    REQUIRE(plain->decimal.value == parse_decimal(text)->value);
    REQUIRE(is_written_float32(plain->decimal) == expected);
  }
  CHECK(as_float32 > 20'000);  // both answers were there
  CHECK(as_float32 < 180'000);
}

TEST_CASE("decimal: any float32 in the range of times survives writing and reading") {
  const std::uint64_t seed = 7;
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!(std::abs(value) < 9.2e9F)) continue;
    const std::string text = written(value);
    INFO(text);
    const auto decimal = parse_decimal(text);
    REQUIRE(decimal);
    REQUIRE(static_cast<float>(decimal->value) == value);
    REQUIRE(std::signbit(decimal->value) == std::signbit(value));
    REQUIRE(is_written_float32(*decimal));
  }
}

TEST_CASE("decimal: what is no number is refused") {
  for (const char* text :
       {"", "-", "+1", "1.2.3", "1e", "abc", "1 ", " 1", "0x10", "--1", "1e400", "1e-400", "1,5"}) {
    INFO(text);
    CHECK_FALSE(parse_decimal(text));
  }
}

TEST_CASE("decimal: only plain decimals of up to 14 digits are scanned") {
  CHECK(scan_plain_decimal("-1.25,")->decimal.value == -1.25);
  CHECK(scan_plain_decimal("7\n")->decimal.value == 7);
  CHECK(scan_plain_decimal("12e5,")->length == 2);  // the caller sees that no field ends here
  CHECK_FALSE(scan_plain_decimal(",").has_value());
  CHECK_FALSE(scan_plain_decimal("-,").has_value());
  CHECK_FALSE(scan_plain_decimal(".5,").has_value());
  CHECK_FALSE(scan_plain_decimal("5.,").has_value());
  CHECK_FALSE(scan_plain_decimal("1234567890123456,").has_value());
}

}  // namespace
}  // namespace goodput
