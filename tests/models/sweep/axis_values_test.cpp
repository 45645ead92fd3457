// What a parameter runs through.
#include "models/sweep/axis_values.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace goodput {
namespace {

using Texts = std::vector<std::string>;

Texts values_in(const std::string& text) {
  const auto values = AxisValues::parse(text);
  if (!values) return {values.error().what};
  if (!values->count()) return {"a range"};
  Texts all;
  for (std::uint64_t i = 0; i < *values->count(); ++i) all.push_back(values->at(i));
  return all;
}

std::string values_problem(const std::string& text) {
  const auto values = AxisValues::parse(text);
  return values ? "" : values.error().what;
}

Texts values_at(const std::string& text, const std::vector<double>& shares) {
  const AxisValues values = AxisValues::parse(text).value();
  Texts all;
  for (const double share : shares) all.push_back(values.at_share(share));
  return all;
}

}  // namespace

TEST_CASE("axis values: a list is JSON, and what is no JSON is text") {
  CHECK(values_in("10,25,1e3") == Texts{"10", "25", "1000.0"});
  CHECK(values_in("young,\"daly\",true,null") == Texts{"\"young\"", "\"daly\"", "true", "null"});
  CHECK(values_in("x.json,../y.json") == Texts{"\"x.json\"", "\"../y.json\""});
  CHECK(values_in("\"\"") == Texts{"\"\""});
}

TEST_CASE("axis values: commas within JSON do not split") {
  CHECK(values_in(R"([1,2],{"a":[3,{"b":4}],"c":"x,]"},5)") ==
        Texts{"[1,2]", R"({"a":[3,{"b":4}],"c":"x,]"})", "5"});
  CHECK(values_in(R"("a,\"b,c",d)") == Texts{R"("a,\"b,c")", "\"d\""});
}

TEST_CASE("axis values: whole numbers, steps, and decimals to the digit") {
  CHECK(values_in("0..3") == Texts{"0", "1", "2", "3"});
  CHECK(values_in("-2..1") == Texts{"-2", "-1", "0", "1"});
  CHECK(values_in("0..64:16") == Texts{"0", "16", "32", "48", "64"});
  CHECK(values_in("0..7:3") == Texts{"0", "3", "6"});
  // 0.1 + 2 x 0.1 is 0.30000000000000004 in doubles.
  CHECK(values_in("0.1..0.5:0.1") == Texts{"0.1", "0.2", "0.3", "0.4", "0.5"});
  CHECK(values_in("1e3..3e3:1e3") == Texts{"1000", "2000", "3000"});
  CHECK(values_in("0..1:0.25") == Texts{"0", "0.25", "0.5", "0.75", "1"});
  CHECK(values_in("1,0..2,young") == Texts{"1", "0", "1", "2", "\"young\""});
}

TEST_CASE("axis values: so many of a range, in equal steps or ratios, with both ends") {
  CHECK(values_in("0.0..1.0/5") == Texts{"0", "0.25", "0.5", "0.75", "1"});
  CHECK(values_in("1..16/5:log") == Texts{"1", "2", "4", "8", "16"});
  CHECK(values_in("10..1000/4:log") == Texts{"10", "46", "215", "1000"});  // 10 x 100^(1/3), 10 x 100^(2/3)
  CHECK(values_in("0..10/3") == Texts{"0", "5", "10"});
  CHECK(values_in("0.5..2.0/3:log") == Texts{"0.5", "1", "2"});
}

TEST_CASE("axis values: as many as there are, without making them") {
  CHECK(AxisValues::parse("0..1000000000000").value().count() == 1'000'000'000'001);
  CHECK(AxisValues::parse("1,2,5..7").value().count() == 5);
  CHECK_FALSE(AxisValues::parse("0.1..0.5").value().count());
  CHECK_FALSE(AxisValues::parse("8..512:log").value().count());
}

TEST_CASE("axis values: a share of all says which") {
  CHECK(values_at("0..3", {0, 0.24, 0.25, 0.5, 0.999}) == Texts{"0", "0", "1", "2", "3"});
  CHECK(values_at("a,b", {0, 0.49, 0.5, 0.99}) == Texts{"\"a\"", "\"a\"", "\"b\"", "\"b\""});
  CHECK(values_at("1.0..3.0", {0, 0.5}) == Texts{"1", "2"});
  CHECK(values_at("0.01..1.0:log", {0, 0.5}) == Texts{"0.01", "0.1"});
  // Of whole numbers on a log scale 1 has log 2 / log 5 = 0.43 of all.
  CHECK(values_at("1..4:log", {0, 0.42, 0.44, 0.999}) == Texts{"1", "1", "2", "4"});
}

TEST_CASE("axis values: what they cannot be") {
  CHECK(values_problem("1,,2") == "has an empty value; write \"\" for an empty string");
  CHECK(values_problem("8..0") == "\"8..0\" is not a valid range: the low end must be below the high end");
  CHECK(
      values_problem("0..x") ==
      "\"0..x\" is not a valid range: expected LOW..HIGH with two numbers, for example 0..8 or 0.1..0.5:0.1");
  CHECK(values_problem("0..8:0") ==
        "\"0..8:0\" is not a valid range: expected a step above 0 or \"log\" after the colon");
  CHECK(
      values_problem("0..8/1") ==
      "\"0..8/1\" is not a valid range: expected the number of values, from 2 to 10000000, after the slash");
  CHECK(values_problem("0..8/3:2") ==
        "\"0..8/3:2\" is not a valid range: give either the number of values or a step, not both");
  CHECK(values_problem("0..8:log") ==
        "\"0..8:log\" is not a valid range: the ends of a log scale must be above 0");
  CHECK(values_problem("1..4/9") ==
        "\"1..4/9\" is not a valid range: two values of the range round to 1; ask for fewer values, or write "
        "the ends with a decimal point");
  CHECK(values_problem("0.000000000001..100000000000000:1") ==
        "\"0.000000000001..100000000000000:1\" is not a valid range: the numbers of the range have too many "
        "digits");
  CHECK(values_problem("1,0.1..0.5") ==
        "\"0.1..0.5\" is not a valid range: a range in a list must include its number of values, for example "
        "0.1..0.5/5");
}

}  // namespace goodput
