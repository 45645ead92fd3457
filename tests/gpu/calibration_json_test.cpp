#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "gpu/calibrate/json_value.h"

namespace goodput::gpu::calibrate {
namespace {

std::string error_of_json(const std::string& text) {
  try {
    static_cast<void>(parse_json(text));
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST_CASE("calibration json: what is written is read again, member by member in order") {
  const std::string text =
      R"({"a": 1,"b": [true,false,null],"c": {"d": "x \"y\" \\ \u0001 \u00e9"},"e": -0.1,"f": 1e+300,"g": []})";
  const JsonValue value = parse_json(text);
  CHECK(value.at("a").number() == 1);
  CHECK(value.at("b").array()[0].boolean());
  CHECK(value.at("c").at("d").text() == "x \"y\" \\ \x01 \xc3\xa9");
  CHECK(value.find("z") == nullptr);
  CHECK(parse_json(json_text(value)) == value);
  CHECK(json_text(parse_json(" { \"a\" :\t[ 1 , 2 ] } \r\n")) == R"({"a": [1,2]})");
}

TEST_CASE("calibration json: escapes by name and by number, of one, two and three bytes of UTF-8") {
  CHECK(parse_json(R"("\" \\ \/ \b \f \n \r \t")").text() == "\" \\ / \b \f \n \r \t");
  CHECK(parse_json(R"("\u0041 \u007f \u0080 \u07ff \u0800 \u20ac \uffff")").text() ==
        "A \x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xe2\x82\xac \xef\xbf\xbf");
}

TEST_CASE("calibration json: numbers come back as the same doubles") {
  for (const double number : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 9007199254740993.0, -2.5}) {
    CHECK(parse_json(json_text(JsonValue(JsonValue::Content(number)))).number() == number);
  }
}

TEST_CASE("calibration json: what is none is refused with its place") {
  CHECK(error_of_json("") == "byte 0: expected a value");
  CHECK(error_of_json("{") == "byte 1: expected '\"'");
  CHECK(error_of_json("{\"a\" 1}") == "byte 5: expected ':'");
  CHECK(error_of_json("{\"a\": 1") == "byte 7: expected '}'");
  CHECK(error_of_json("[1,]") == "byte 3: expected a value");
  CHECK(error_of_json("[1") == "byte 2: expected ']'");
  CHECK(error_of_json("1 2") == "byte 2: unexpected text after the value");
  CHECK(error_of_json("\"abc") == "byte 4: unterminated string");
  CHECK(error_of_json("\"a\\q\"") == "byte 3: unknown escape sequence");
  CHECK(error_of_json("\"\\u12\"") == "byte 2: unknown escape sequence");
  CHECK(error_of_json("\"\\u12zz\"") == "byte 2: unknown escape sequence");
  CHECK(error_of_json("\"\\u+123\"") == "byte 2: unknown escape sequence");
  CHECK(error_of_json("\"\\u-001\"") == "byte 2: unknown escape sequence");
  CHECK(error_of_json("\"\\u  12\"") == "byte 2: unknown escape sequence");
  CHECK(error_of_json("1.2.3") == "byte 0: expected a value");
  CHECK(error_of_json("nope") == "byte 0: expected a value");
  CHECK(error_of_json("1e999") == "byte 0: expected a value");
  CHECK(error_of_json(std::string(100, '[')) == "byte 33: nested too deeply");
}

TEST_CASE("calibration json: what is asked of the wrong kind is an error") {
  const JsonValue value = parse_json(R"({"a": 1})");
  CHECK_THROWS_WITH(static_cast<void>(value.number()), "expected a number");
  CHECK_THROWS_WITH(static_cast<void>(value.text()), "expected a string");
  CHECK_THROWS_WITH(static_cast<void>(value.boolean()), "expected true or false");
  CHECK_THROWS_WITH(static_cast<void>(value.array()), "expected an array");
  CHECK_THROWS_WITH(static_cast<void>(value.at("a").object()), "expected an object");
  CHECK_THROWS_WITH(static_cast<void>(value.at("b")), "'b' is missing");
}

// Every byte of a line replaced and every beginning of it: an answer or an error, never anything else.
TEST_CASE("calibration json: damaged lines end in an error or a value") {
  const std::string line =
      R"({"visit": {"op": "gemm","params": {"n": 4096,"dtype": "bf16"},"m": 16,"cv": 1.5e-3}})";
  int read = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    for (const char c : {'\0', '"', '{', '}', '\\', '9', '\n', '\x80'}) {
      std::string damaged = line;
      damaged[at] = c;
      read += error_of_json(damaged).empty() ? 1 : 0;
    }
    CHECK_FALSE(error_of_json(line.substr(0, at)).empty());
  }
  CHECK(read > 0);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
