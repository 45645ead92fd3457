#include "sim/base/registry.h"

#include <doctest/doctest.h>

#include <string>

namespace goodput {
namespace {

struct FruitInfo {
  std::string_view name;
  int weight_g;
};

std::span<const FruitInfo> fruits() {
  static const Registry<FruitInfo> all = {{"apple", 180}, {"sour-cherry", 5}};
  return all.infos();
}

std::string bug_of(std::initializer_list<FruitInfo> infos) {
  try {
    const Registry<FruitInfo> all = infos;
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("registry: a thing is found by its name, in the order it was registered") {
  CHECK(names_of(fruits()) == std::vector<std::string_view>{"apple", "sour-cherry"});
  const auto found = find_named(fruits(), "fruit", "sour-cherry");
  REQUIRE(found);
  CHECK(found->weight_g == 5);
}

TEST_CASE("registry: an unknown name says what there is, and what may have been meant") {
  const auto message = [](std::string_view name) {
    return find_named(fruits(), "fruit", name).error().message();
  };
  CHECK(message("quince") == "unknown fruit \"quince\"; known: apple, sour-cherry");
  CHECK(message("aple") == "unknown fruit \"aple\"; did you mean \"apple\"?; known: apple, sour-cherry");
  CHECK(message("sour_cherry") ==
        "unknown fruit \"sour_cherry\"; did you mean \"sour-cherry\"?; known: apple, sour-cherry");
  CHECK(message("") == "unknown fruit \"\"; known: apple, sour-cherry");
  CHECK(message("\x1b[2J") == "unknown fruit \"\\x1b[2J\"; known: apple, sour-cherry");
  CHECK(find_named<FruitInfo>({}, "fruit", "apple").error().message() == "unknown fruit \"apple\"; known: ");
}

TEST_CASE("registry: names of an enum's values are found the same way") {
  constexpr std::string_view kNames[] = {"red", "green"};
  CHECK(*index_of_name(kNames, "colour", "green") == 1);
  CHECK(index_of_name(kNames, "colour", "gren").error().message() ==
        "unknown colour \"gren\"; did you mean \"green\"?; known: red, green");
}

TEST_CASE("registry: a name that is there twice, or missing, is our bug") {
  CHECK(bug_of({{"apple", 1}, {"pear", 2}, {"apple", 3}}).find("two entries have the name \"apple\"") !=
        std::string::npos);
  CHECK(bug_of({{"", 1}}).find("an entry has no name") != std::string::npos);
  CHECK(bug_of({{"apple", 1}, {"pear", 2}}).empty());
}

}  // namespace goodput
