// Designs: which points there are, what each changes, which shard it belongs to.
#include "models/sweep/sweep_points.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "sim/config/config.h"

namespace goodput {
namespace {

SweepConfig sweep_of(const std::vector<std::string>& vary, SweepDesign design = SweepDesign::kGrid,
                     std::int64_t points = 0) {
  SweepConfig sweep;
  for (const std::string& text : vary) sweep.vary.push_back(parse_sweep_axis(text).value());
  sweep.design = design;
  sweep.points = points;
  return sweep;
}

void add_sets(SweepConfig& sweep, std::size_t axis, const std::string& pointer,
              const std::string& expression) {
  sweep.vary[axis].sets.push_back({pointer, Expression::parse(expression).value()});
}

std::vector<std::string> rows_of(const SweepPoints& points) {
  std::vector<std::string> rows;
  for (std::uint64_t i = 0; i < points.size(); ++i)
    rows.push_back(fmt::format("{}", fmt::join(points.values(i), " ")));
  return rows;
}
std::vector<std::string> rows_of(const SweepConfig& sweep) {
  return rows_of(SweepPoints::make(sweep, 0).value());
}

std::string points_problem(const SweepConfig& sweep) {
  const auto points = SweepPoints::make(sweep, 0);
  return points ? "" : points.error().message();
}

// "POINTER=VALUE ...", on a plan of 128 nodes.
std::string changes_of(const SweepConfig& sweep, std::uint64_t point) {
  const SweepPoints points = SweepPoints::make(sweep, 0).value();
  const auto changes =
      points.changes(point, [](const auto& /*so_far*/) -> Result<std::int32_t> { return 128; });
  if (!changes) return changes.error().message();
  std::string text;
  for (const config::Change& change : *changes) text += change.pointer + "=" + change.value + " ";
  return text;
}

}  // namespace

TEST_CASE("sweep points: a grid has every value with every value, the last axis the fastest") {
  CHECK(rows_of(sweep_of({"/a=1,2", "/b=x,y,z"})) ==
        std::vector<std::string>{"1 \"x\"", "1 \"y\"", "1 \"z\"", "2 \"x\"", "2 \"y\"", "2 \"z\""});
  CHECK(rows_of(sweep_of({"/a,/b=[1,2],[3,4]", "/c=0..1"})) ==
        std::vector<std::string>{"1 2 0", "1 2 1", "3 4 0", "3 4 1"});
}

TEST_CASE("sweep points: a value that an axis has twice is refused by name") {
  CHECK(points_problem(sweep_of({"/b=x,y", "/a=50,100,50"})) ==
        "/vary: /a has the value 50 twice; give each value only once");
  CHECK(points_problem(sweep_of({"/a=1,2,1.0"})) ==
        "/vary: /a has the value 1.0 twice; give each value only once");
  CHECK(points_problem(sweep_of({"/a=1..3,2"})) ==
        "/vary: /a has the value 2 twice; give each value only once");
  CHECK(points_problem(sweep_of({"/a,/b=[1,2],[1,3],[1,2]"})) ==
        "/vary: /a,/b has the value [1,2] twice; give each value only once");
  // In a list a value may come again, a point may not.
  const SweepDesign list = SweepDesign::kList;
  CHECK(points_problem(sweep_of({"/a=1,1,2", "/b=x,y,x"}, list)).empty());
  CHECK(points_problem(sweep_of({"/a=1,2,1", "/b=x,y,x"}, list)) ==
        "/vary: /a,/b has the value 1,\"x\" twice; give each value only once");
  // A hypercube draws from them: what is there twice comes twice as often.
  CHECK(points_problem(sweep_of({"/a=1,1,2"}, SweepDesign::kLatin, 4)).empty());
}

TEST_CASE("sweep points: the points that cover a grid differ from the first in one axis") {
  const SweepPoints points = SweepPoints::make(sweep_of({"/a=1,2", "/b=x,y,z"}), 0).value();
  std::vector<std::string> rows;
  for (const std::uint64_t point : points.covering()) rows.push_back(rows_of(points).at(point));
  CHECK(rows == std::vector<std::string>{"1 \"x\"", "1 \"y\"", "1 \"z\"", "2 \"x\""});
  const SweepPoints list = SweepPoints::make(sweep_of({"/a=1,2", "/b=x,y"}, SweepDesign::kList), 0).value();
  CHECK(list.covering() == std::vector<std::uint64_t>{0, 1});
}

TEST_CASE("sweep points: a list has the first values, then the second ones") {
  CHECK(rows_of(sweep_of({"/a=1..3", "/b=x,y,z"}, SweepDesign::kList)) ==
        std::vector<std::string>{"1 \"x\"", "2 \"y\"", "3 \"z\""});
}

TEST_CASE("sweep points: a Latin hypercube has one point in each part of every axis") {
  const SweepConfig sweep =
      sweep_of({"/a=0.0..1.0", "/b=10.0..1000.0:log", "/c=0..4", "/d=x,y"}, SweepDesign::kLatin, 20);
  const SweepPoints points = SweepPoints::make(sweep, 7).value();
  REQUIRE(points.size() == 20);
  std::set<int> parts_a;
  std::set<int> parts_b;
  std::map<std::string, int> of_c;
  std::map<std::string, int> of_d;
  for (std::uint64_t i = 0; i < points.size(); ++i) {
    const std::vector<std::string> values = points.values(i);
    parts_a.insert(static_cast<int>(std::floor(20 * std::stod(values[0]))));
    parts_b.insert(static_cast<int>(std::floor(20 * std::log(std::stod(values[1]) / 10) / std::log(100))));
    ++of_c[values[2]];
    ++of_d[values[3]];
  }
  CHECK(parts_a.size() == 20);
  CHECK(*parts_a.rbegin() == 19);
  CHECK(parts_b.size() == 20);
  // 20 points over 5 values: 4 each; over 2: 10 each.
  CHECK(of_c == std::map<std::string, int>{{"0", 4}, {"1", 4}, {"2", 4}, {"3", 4}, {"4", 4}});
  CHECK(of_d == std::map<std::string, int>{{"\"x\"", 10}, {"\"y\"", 10}});
  // The seed alone says which; an axis more leaves the others as they are.
  CHECK(rows_of(points) == rows_of(SweepPoints::make(sweep, 7).value()));
  CHECK(rows_of(points) != rows_of(SweepPoints::make(sweep, 8).value()));
  const SweepConfig one = sweep_of({"/a=0.0..1.0"}, SweepDesign::kLatin, 20);
  const SweepPoints alone = SweepPoints::make(one, 7).value();
  for (std::uint64_t i = 0; i < 20; ++i) CHECK(alone.values(i)[0] == points.values(i)[0]);
}

TEST_CASE("sweep points: spares are nodes beyond the plan's") {
  const SweepConfig sweep = sweep_of({"spares=0..8", "/plan/parallel/dp=16,17"});
  CHECK(SweepPoints::make(sweep, 0).value().has_spares());
  CHECK(changes_of(sweep, 0) == "/plan/parallel/dp=16 /nodes=128 ");
  CHECK(changes_of(sweep, 17) == "/plan/parallel/dp=17 /nodes=136 ");
}

TEST_CASE("sweep points: pointers follow from variables of all axes") {
  SweepConfig sweep = sweep_of({"active=128,256", "spares=0..1", "word=x,\"1\""});
  add_sets(sweep, 0, "/policies/hot_spare/nodes", "active");
  add_sets(sweep, 1, "/nodes", "active + spares");
  add_sets(sweep, 2, "/word", "word");
  CHECK(changes_of(sweep, 7) == "/policies/hot_spare/nodes=256 /nodes=257 /word=\"1\" ");
  CHECK_FALSE(SweepPoints::make(sweep, 0).value().has_spares());
}

TEST_CASE("sweep points: an expression without a value is the point's problem") {
  SweepConfig sweep = sweep_of({"n=0,x,2"});
  add_sets(sweep, 0, "/nodes", "8 / n");
  CHECK(changes_of(sweep, 0) == "/nodes of the sweep: 8 / n is not a finite number");
  CHECK(changes_of(sweep, 1) == "/nodes of the sweep: n is \"x\", which is not a number");
  CHECK(changes_of(sweep, 2) == "/nodes=4 ");
}

TEST_CASE("sweep points: a shard is where a point's values say, whatever other points there are") {
  const SweepPoints few = SweepPoints::make(sweep_of({"/a=0..19", "/b=1,2"}), 0).value();
  const SweepPoints many = SweepPoints::make(sweep_of({"/a=0..19", "/b=1,2,3"}), 0).value();
  std::vector<int> sizes(4);
  for (std::uint64_t a = 0; a < 20; ++a) {
    for (std::uint64_t b = 0; b < 2; ++b) {
      CHECK(few.shard(2 * a + b, 4) == many.shard(3 * a + b, 4));
      CHECK(few.shard(2 * a + b, 1) == 0);
      ++sizes[few.shard(2 * a + b, 4)];
    }
  }
  for (const int size : sizes) CHECK(size > 0);
}

TEST_CASE("sweep points: too many are refused before they are made") {
  const std::string remedy = ", more than 1000000; remove values, or use a latin design";
  CHECK(points_problem(sweep_of({"/a=0..1000000000000"})) ==
        "/vary: the sweep has 1000000000001 points" + remedy);
  CHECK(points_problem(sweep_of({"/a=0..999999", "/b=0..999999", "/c=1,2"})) ==
        "/vary: the sweep has at least 1000000000000 points" + remedy);
  CHECK(points_problem(sweep_of({"/a=0..999", "/b=0..999"})).empty());
}

TEST_CASE("sweep points: what contradicts itself") {
  CHECK(points_problem(sweep_of({"/a=0.1..0.5"})) ==
        "/vary/0/values: /a is a range without a number of values, which only a latin design supports, not a "
        "grid; give the number, for example 0.1..0.5/5");
  CHECK(points_problem(sweep_of({"/a=1,2", "/b=1..3"}, SweepDesign::kList)) ==
        "/vary: /a has 2 values and /b has 3; a list design needs the same number of values for every axis");
  CHECK(points_problem(sweep_of({"/a=1,2"}, SweepDesign::kLatin)) ==
        "/points: a latin design needs the number of points to draw; give points");
  CHECK(points_problem(sweep_of({"/a=1,2", "/a=3"})) ==
        "/vary: varies or sets \"/a\" twice; give each JSON pointer only once");
  CHECK(points_problem(sweep_of({"/nodes=1,2", "spares=3"})) ==
        "/vary: varies or sets \"/nodes\" twice; give each JSON pointer only once");
  CHECK(points_problem(sweep_of({"spars=3"})) ==
        "/vary/0: nothing depends on the variable \"spars\"; did you mean \"spares\"?; JSON pointers begin "
        "with a slash, and \"sets\" in a sweep file defines what depends on a variable");
  SweepConfig unknown = sweep_of({"active=1,2"});
  add_sets(unknown, 0, "/nodes", "activ + 1");
  CHECK(points_problem(unknown) == "/vary/0/sets: there is no variable \"activ\"; did you mean \"active\"?");
}

}  // namespace goodput
