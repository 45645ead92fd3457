#include "traces/kineto/event_fields.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace goodput {
namespace {

using Texts = std::vector<std::string>;

// "key=value" of every member; objects under "args" are entered, and "<" and ">" stand around their members.
// The last is "damaged at REST" if the text is.
Texts members_of(std::string_view object) {
  Texts members;
  EventFields fields(object);
  bool inside = false;
  while (true) {
    const auto key = fields.next();
    if (!key && inside && !fields.is_damaged()) {
      members.emplace_back(">");
      inside = false;
      continue;
    }
    if (!key) break;
    if (*key == "args" && fields.enter()) {
      members.emplace_back("<");
      inside = true;
    } else if (*key != "unasked") {
      members.push_back(std::string(*key) + "=" + std::string(fields.value()));
    }
  }
  if (fields.is_damaged()) members.push_back("damaged at " + std::string(fields.rest()));
  return members;
}

TEST_CASE("event fields: members come in the order of the text, compact or indented") {
  const Texts expected = {R"(a="x, \"}")", "b=-1.5e3", "c=true", R"(d=[1,{"e":2}])", "<", "f=1", ">", "g={}"};
  CHECK(members_of(
            R"({"a":"x, \"}","b":-1.5e3,"c":true,"d":[1,{"e":2}],"unasked":[{}],"args":{"f":1},"g":{}})") ==
        expected);
  CHECK(
      members_of("{\n    \"a\" : \"x, \\\"}\",\n\t\"b\": -1.5e3\r\n    ,\n                       \"c\": true,"
                 "\"d\": [1,{\"e\":2}] , \"unasked\":\n{\"h\": [ ]},\n  \"args\": {\n   \"f\": 1\n  },\n "
                 "\"g\": {}\n}") == expected);
  CHECK(members_of("{}") == Texts{});
  CHECK(members_of("{ \n }") == Texts{});
  CHECK(members_of(R"({"args":{}})") == Texts{"<", ">"});
  CHECK(members_of(R"({"args":5})") == Texts{"args=5"});
}

TEST_CASE("event fields: control characters in strings are tolerated") {
  CHECK(members_of("{\"a\n\": \"\x01\t\"}") == Texts{"a\n=\"\x01\t\""});
}

TEST_CASE("event fields: text that is not a JSON object is reported as damaged, with its place") {
  const auto damage = [](std::string_view text) {
    const Texts members = members_of(text);
    return members.empty() ? std::string() : members.back();
  };
  CHECK(damage("") == "damaged at ");
  CHECK(damage("[1]") == "damaged at [1]");
  CHECK(damage("{") == "damaged at ");
  CHECK(damage("{a: 1}") == "damaged at a: 1}");
  CHECK(damage(R"({"a)") == "damaged at a");
  CHECK(damage(R"({"a"})") == "damaged at }");
  CHECK(damage(R"({"a":})") == "damaged at }");
  CHECK(damage(R"({"a":)") == "damaged at ");
  CHECK(damage(R"({"a":1)") == "damaged at ");
  CHECK(damage(R"({"a":"x)") == "damaged at \"x");
  CHECK(damage(R"({"a":"x\)") == "damaged at \"x\\");
  CHECK(damage(R"({"a":[1})") == "damaged at [1}");
  CHECK(damage(R"({"a":{"b":1])") == "damaged at {\"b\":1]");
  CHECK(damage(R"({"a":1,})") == "damaged at }");
  CHECK(damage(R"({"a":1 "b":2})") == "damaged at \"b\":2}");
  CHECK(damage(R"({"a":{}{}})") == "damaged at {}}");
  CHECK(damage(R"({"a":1}})") == "damaged at }");
  CHECK(damage(R"({"args":{"f":1,}})") == "damaged at }}");
}

TEST_CASE("event fields: array items are cut at the commas between them") {
  const auto items = [](std::string_view text) {
    const auto found = json_items(text);
    return found ? Texts(found->begin(), found->end()) : Texts{"none"};
  };
  CHECK(items(R"(["", "a,b" , [1, 2],{"c": []} ])") == Texts{R"("")", R"("a,b")", "[1, 2]", R"({"c": []})"});
  CHECK(items("[]") == Texts{});
  CHECK(items("[ \n]") == Texts{});
  for (const std::string_view bad : {"", "[", "5", "[1,]", "[,1]", "[1]]", "[[1]", "[\"a]", "{}"}) {
    CAPTURE(bad);
    CHECK(items(bad) == Texts{"none"});
  }
}

TEST_CASE("event fields: microseconds become nanoseconds without a rounding error") {
  CHECK(nanoseconds_of_microseconds("4776480871463.312") == 4776480871463312);
  CHECK(nanoseconds_of_microseconds("-0.001") == -1);
  CHECK(nanoseconds_of_microseconds("-12.345") == -12345);
  CHECK(nanoseconds_of_microseconds("0") == 0);
  CHECK(nanoseconds_of_microseconds("0.000") == 0);
  CHECK(nanoseconds_of_microseconds("0.120") == 120);
  CHECK(nanoseconds_of_microseconds("250") == 250'000);
  CHECK(nanoseconds_of_microseconds("1.5") == 1500);
  CHECK(nanoseconds_of_microseconds("1e3") == 1'000'000);
  CHECK(nanoseconds_of_microseconds("1.25E+2") == 125'000);
  CHECK(nanoseconds_of_microseconds("12345e-3") == 12'345);
  CHECK(nanoseconds_of_microseconds("0e999999999999") == 0);
}

TEST_CASE("event fields: fractions of a nanosecond are rounded") {
  CHECK(nanoseconds_of_microseconds("0.0004") == 0);
  CHECK(nanoseconds_of_microseconds("0.0005") == 1);
  CHECK(nanoseconds_of_microseconds("-0.0005") == -1);
  CHECK(nanoseconds_of_microseconds("1.99949") == 1999);
  CHECK(nanoseconds_of_microseconds("5e-4") == 1);
  CHECK(nanoseconds_of_microseconds("9e-5") == 0);
  CHECK(nanoseconds_of_microseconds("1e-99999999999") == 0);
}

TEST_CASE("event fields: times that exceed 64 bits by a nanosecond are refused") {
  CHECK(nanoseconds_of_microseconds("9223372036854775.807") == INT64_MAX);
  CHECK(nanoseconds_of_microseconds("9223372036854775.808") == std::nullopt);
  CHECK(nanoseconds_of_microseconds("9223372036854775.8075") == std::nullopt);
  CHECK(nanoseconds_of_microseconds("-9223372036854775.808") == INT64_MIN);
  CHECK(nanoseconds_of_microseconds("-9223372036854775.809") == std::nullopt);
  CHECK(nanoseconds_of_microseconds("1e16") == std::nullopt);
  CHECK(nanoseconds_of_microseconds("1e999999999999") == std::nullopt);
  CHECK(nanoseconds_of_microseconds("99999999999999999999") == std::nullopt);
}

TEST_CASE("event fields: a time must be a JSON number") {
  for (const std::string_view bad : {"", "-", ".5", "5.", "1.e3", "1e", "1e+", "+1", "01", "01.500", "00.500",
                                     "1 ", "NaN", "Infinity", "\"5\"", "1.2.345", "1x.345", "0x10"}) {
    CAPTURE(bad);
    CHECK(nanoseconds_of_microseconds(bad) == std::nullopt);
  }
}

TEST_CASE("event fields: integers have no fraction and no exponent and fit into 64 bits") {
  CHECK(json_integer("0") == 0);
  CHECK(json_integer("-42") == -42);
  CHECK(json_integer("9223372036854775807") == INT64_MAX);
  CHECK(json_integer("-9223372036854775808") == INT64_MIN);
  for (const std::string_view bad :
       {"", "-", "9223372036854775808", "99999999999999999999", "1.0", "1e3", "007", "\"1\"", "+1", "1 "}) {
    CAPTURE(bad);
    CHECK(json_integer(bad) == std::nullopt);
  }
}

TEST_CASE("event fields: strings are unescaped") {
  JsonStrings strings;
  const auto read = [&](std::string_view text) { return std::string(strings.read(text).value_or("none")); };
  CHECK(read(R"("plain")") == "plain");
  CHECK(read(R"("")") == "");
  CHECK(read(R"("a\"\\\/\b\f\n\r\tz")") == "a\"\\/\b\f\n\r\tz");
  CHECK(read(R"("\u0041\u00e9\u20AC")") == "A\xc3\xa9\xe2\x82\xac");
  CHECK(read(R"("\ud83d\ude00")") == "\xf0\x9f\x98\x80");
  CHECK(read(R"("\ud83dx")") == "\xef\xbf\xbdx");
  CHECK(read(R"("\ud83d\u0041")") ==
        "\xef\xbf\xbd"
        "A");
  CHECK(read(R"("\ude00")") == "\xef\xbf\xbd");
}

TEST_CASE("event fields: text that is not a JSON string is refused") {
  JsonStrings strings;
  for (const std::string_view bad :
       {"", "\"", "5", "\"a", R"("\q")", R"("\u12")", R"("\u12g4")", R"("a\")", R"("a"b")"}) {
    CAPTURE(bad);
    CHECK(strings.read(bad) == std::nullopt);
  }
}

TEST_CASE("event fields: values are described by their kind, numbers and words by their text") {
  CHECK(describe_json("") == "nothing");
  CHECK(describe_json("\"x\"") == "a string");
  CHECK(describe_json("{}") == "an object");
  CHECK(describe_json("[]") == "an array");
  CHECK(describe_json("true") == "true or false");
  CHECK(describe_json("null") == "null");
  CHECK(describe_json("NaN") == "\"NaN\"");
}

}  // namespace
}  // namespace goodput
