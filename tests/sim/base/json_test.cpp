#include "sim/base/json.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/random.h"
#include "tests/support/random_integer.h"

namespace goodput {
namespace {

// Text of a random value: every kind, keys that come twice, escapes, bytes that are not UTF-8.
std::string random_text(RandomStream& random) {
  static const std::vector<std::string> kPieces = {"a",    "Z",    " ", "\"", "\\", "/",    "\n",
                                                   "\x01", "\x7f", "é", "漢", "😀",  "\xff", "\xc3"};
  std::string text;
  for (std::int32_t i = testing::between(random, 0, 5); i > 0; --i)
    text += kPieces[static_cast<std::size_t>(
        testing::between(random, 0, static_cast<std::int32_t>(kPieces.size()) - 1))];
  return text;
}

template <typename Ours, typename Theirs>
std::pair<Ours, Theirs> random_value(RandomStream& random, int depth) {
  const auto same = [](const auto& value) { return std::pair{Ours(value), Theirs(value)}; };
  switch (testing::between(random, 0, depth > 0 ? 8 : 6)) {
    case 0:
      return same(nullptr);
    case 1:
      return same(testing::between(random, 0, 1) == 1);
    case 2:
      return same(testing::between(random, -1000, 1000));
    case 3:
      return same(std::numeric_limits<std::uint64_t>::max());
    case 4:
      return same((random.uniform() - 0.5) * 1e-5);
    case 5:
      return same(static_cast<double>(testing::between(random, -5, 5)) * 1e21);
    case 6:
      return same(random_text(random));
    case 7: {
      std::pair<Ours, Theirs> array{Ours::array(), Theirs::array()};
      for (std::int32_t i = testing::between(random, 0, 4); i > 0; --i) {
        auto [ours, theirs] = random_value<Ours, Theirs>(random, depth - 1);
        array.first.push_back(std::move(ours));
        array.second.push_back(std::move(theirs));
      }
      return array;
    }
    default: {
      std::pair<Ours, Theirs> object{Ours::object(), Theirs::object()};
      for (std::int32_t i = testing::between(random, 0, 5); i > 0; --i) {
        const std::string key = random_text(random);
        auto [ours, theirs] = random_value<Ours, Theirs>(random, depth - 1);
        object.first[key] = std::move(ours);
        object.second[key] = std::move(theirs);
      }
      return object;
    }
  }
}

template <typename Ours, typename Theirs>
void compare_random_values(std::string_view order) {
  constexpr auto kReplace = Theirs::error_handler_t::replace;
  for (int seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    RandomStream random(static_cast<std::uint64_t>(seed), order);
    const auto [ours, theirs] = random_value<Ours, Theirs>(random, 4);
    REQUIRE(ours.dump() == theirs.dump(-1, ' ', false, kReplace));
    REQUIRE(ours.dump(2) == theirs.dump(2, ' ', false, kReplace));
    const std::string text = ours.dump();
    const Ours again = Ours::parse(text);
    REQUIRE(again.dump() == Theirs::parse(text).dump());
    REQUIRE(again == Ours::parse(again.dump(1)));
    // Cut or changed text is refused by both, with the same message, or read by both alike.
    std::string damaged = text.substr(
        0, static_cast<std::size_t>(testing::between(random, 0, static_cast<std::int32_t>(text.size()))));
    if (!damaged.empty()) damaged[damaged.size() / 2] = "[]{},:\"0-."[seed % 10];
    try {
      const std::string read = Theirs::parse(damaged).dump();
      REQUIRE(Ours::parse(damaged).dump() == read);
    } catch (const nlohmann::json::exception& error) {
      REQUIRE_THROWS_WITH_AS(static_cast<void>(Ours::parse(damaged)), error.what(), JsonError);
      REQUIRE_FALSE(Ours::accept(damaged));
    }
  }
}

}  // namespace

TEST_CASE("json: random values are written and read as nlohmann_json does, damaged texts refused alike") {
  compare_random_values<Json, nlohmann::json>("by name");
  compare_random_values<OrderedJson, nlohmann::ordered_json>("as added");
}

TEST_CASE("json: members are in the order of their names, or in the order in which they were added") {
  constexpr std::string_view kText = R"({"b":1,"a":2,"b":3})";  // of b the later value counts
  CHECK(Json::parse(kText).dump() == R"({"a":2,"b":3})");
  CHECK(OrderedJson::parse(kText).dump() == R"({"b":3,"a":2})");
  Json by_name;
  OrderedJson as_added;
  for (const char* key : {"c", "a", "b"}) {
    by_name[key] = 1;
    as_added[key] = 1;
  }
  CHECK(by_name.dump() == R"({"a":1,"b":1,"c":1})");
  CHECK(as_added.dump() == R"({"c":1,"a":1,"b":1})");
  CHECK(Json(as_added) == by_name);
  CHECK(OrderedJson(by_name).dump() == by_name.dump());
  as_added.append("0", nullptr);
  CHECK(as_added.dump() == R"({"c":1,"a":1,"b":1,"0":null})");
}

TEST_CASE("json: a list of pairs in braces is an object, any other list an array") {
  CHECK(Json({{"a", 1}, {"b", {1, 2}}}).dump() == R"({"a":1,"b":[1,2]})");
  CHECK(Json({{"a", 1}, {2, "b"}}).dump() == R"([["a",1],[2,"b"]])");
  CHECK(Json::array({"a", 1}).dump() == R"(["a",1])");
  const std::vector<std::vector<int>> rows = {{1}, {}, {2, 3}};
  CHECK(Json(rows).dump() == "[[1],[],[2,3]]");
  CHECK(Json(rows).get<std::vector<std::vector<int>>>() == rows);
}

TEST_CASE("json: numbers are equal if their values are, and become each other") {
  CHECK(Json(1) == Json(1.0));
  CHECK(Json(1) == Json(1U));
  CHECK_FALSE(Json(-1) == Json(std::numeric_limits<std::uint64_t>::max()));
  CHECK(Json::parse("1").is_number_unsigned());
  CHECK(Json::parse("-1").get<double>() == -1);
  CHECK(Json(2.9).get<int>() == 2);
  CHECK(Json(std::numeric_limits<double>::quiet_NaN()).dump() == "null");
}

TEST_CASE("json: a value of another kind, or one that is not there, is refused") {
  const Json json = Json::parse(R"({"a": [1, "x"], "b": null})");
  CHECK_THROWS_WITH_AS(static_cast<void>(json.at("c")), "has no member c", JsonError);
  CHECK_THROWS_WITH_AS(static_cast<void>(json.at("a").at(2)), "has no element 2", JsonError);
  CHECK_THROWS_WITH_AS(static_cast<void>(json.at("a").at("b")), "is an array, not an object", JsonError);
  CHECK_THROWS_WITH_AS(static_cast<void>(json.at("a")[1].get<int>()), "is a string, not a number", JsonError);
  CHECK_THROWS_WITH_AS(static_cast<void>(json.at("b").get<std::string>()), "is null, not a string",
                       JsonError);
  CHECK_THROWS_WITH_AS(static_cast<void>(json.get<std::vector<int>>()), "is an object, not an array",
                       JsonError);
  CHECK(json.value("c", 7) == 7);
  CHECK(json.find("c") == json.end());
}

TEST_CASE("json: nesting of more than 1000 levels is refused, 1000 are read") {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  CHECK(Json::parse(nested(1000)).dump() == nested(1000));
  CHECK_THROWS_WITH_AS(static_cast<void>(Json::parse(nested(1001))), "values are nested too deeply",
                       JsonError);
  CHECK_FALSE(Json::accept(std::string(1'000'000, '[')));
  CHECK_THROWS_WITH_AS(static_cast<void>(Json::parse("1e999")),
                       "[json.exception.out_of_range.406] number overflow parsing '1e999'", JsonError);
}

TEST_CASE("json pointers: names with slashes and tildes, elements by index, and the place after the last") {
  Json json = Json::parse(R"({"a/b": {"~": [1, 2]}})");
  const JsonPointer last("/a~1b/~0/1");
  CHECK(json.at(last) == 2);
  CHECK(last.to_string() == "/a~1b/~0/1");
  CHECK(last.parent_pointer().back() == "~");
  CHECK(JsonPointer("").empty());
  CHECK_FALSE(json.contains(JsonPointer("/a~1b/~0/01")));  // an index has no leading zeros
  CHECK_FALSE(json.contains(JsonPointer("/a~1b/~0/-")));
  json[JsonPointer("/a~1b/~0/-")] = 3;
  json[JsonPointer("/c/d")] = true;
  CHECK(json.dump() == R"({"a/b":{"~":[1,2,3]},"c":{"d":true}})");
  CHECK_THROWS_AS(JsonPointer("a"), JsonError);
  CHECK_THROWS_AS(JsonPointer("/~2"), JsonError);
  CHECK_THROWS_WITH_AS(static_cast<void>(json.at(JsonPointer("/x/0"))), "has no value at /x/0", JsonError);
  CHECK_THROWS_AS(json[JsonPointer("/a~1b/~0/x")] = 1, JsonError);
}

}  // namespace goodput
