// One axis: pointers that move alone or together, and variables.
#include "models/sweep/sweep_axis.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/base/json.h"
#include "sim/config/config.h"

namespace goodput {
namespace {

using Texts = std::vector<std::string>;

std::string axis_problem(const std::string& text) {
  const auto axis = parse_sweep_axis(text);
  return axis ? "" : axis.error().message();
}

Result<SweepAxis> axis_of(const Json& json) {
  SweepAxis axis;
  config::Place place{"s.json", "/vary/0", {}};
  GOODPUT_TRY_STATUS(config::object(axis).read(json, place));
  return axis;
}
std::string axis_file_problem(const Json& json) {
  const auto axis = axis_of(json);
  return axis ? "" : axis.error().message();
}

}  // namespace

TEST_CASE("sweep axis: of a pointer, of several, of a variable") {
  const SweepAxis one = parse_sweep_axis("/failures/mtbf_hours=10,100").value();
  CHECK(one.parameters() == Texts{"/failures/mtbf_hours"});
  CHECK(one.split("10") == Texts{"10"});
  const SweepAxis two = parse_sweep_axis("/nodes,/plan/parallel/dp=[136,16],[144,17]").value();
  CHECK(two.parameters() == Texts{"/nodes", "/plan/parallel/dp"});
  CHECK(two.split(two.values.at(1)) == Texts{"144", "17"});
  const SweepAxis spares = parse_sweep_axis("spares=0..8").value();
  CHECK(spares.parameters() == Texts{"spares"});
  CHECK(spares.is_spares());
  // What a comma without a slash is part of is a name; so is all behind the first =.
  CHECK(parse_sweep_axis("/policies/a,b/x=c=d").value().parameters() == Texts{"/policies/a,b/x"});
  CHECK(parse_sweep_axis("/policies/a,b/x=c=d").value().values.at(0) == "\"c=d\"");
}

TEST_CASE("sweep axis: spares are whole numbers of nodes, 0 or more") {
  const std::string wanted = "/values: spares must be whole numbers of nodes, 0 or more, not ";
  CHECK(axis_problem("spares=0..8:2,3").empty());
  CHECK(axis_problem("spares=0..8").empty());
  CHECK(axis_problem("spares=2..8:log").empty());
  CHECK(axis_problem("spares=-1") == wanted + "-1");
  CHECK(axis_problem("spares=0,-1,2") == wanted + "-1");
  CHECK(axis_problem("spares=-2..2") == wanted + "-2");
  CHECK(axis_problem("spares=0.5..3:0.5") == wanted + "0.5");
  CHECK(axis_problem("spares=few") == wanted + "\"few\"");
  // A latin design draws from a range: not from one of all numbers.
  CHECK(axis_problem("spares=-2..8:log") ==
        "\"-2..8:log\" is not a valid range: the ends of a log scale must be above 0");
  CHECK(axis_problem("spares=0.0..10.0") == wanted + "6.18");
  // A variable of that name that the file says more of may be anything.
  CHECK(
      axis_file_problem({{"name", "spares"}, {"values", {-1, "few"}}, {"sets", {{"/x", "spares"}}}}).empty());
}

TEST_CASE("sweep axis: a file says the same") {
  const SweepAxis axis = axis_of({{"name", "spares"},
                                  {"values", {0, 4, "many"}},
                                  {"sets", {{"/nodes", "128 + spares"}, {"/x", "spares"}}}})
                             .value();
  CHECK(axis.values.at(2) == "\"many\"");
  CHECK(axis.sets.at(0).pointer == "/nodes");
  CHECK_FALSE(axis.is_spares());
  SweepAxis written = axis;
  CHECK(
      config::write(config_fields(written)).dump() ==
      R"({"pointer":"","name":"spares","values":[0,4,"many"],"sets":{"/nodes":"128 + spares","/x":"spares"}})");
}

TEST_CASE("sweep axis: what is wrong with it") {
  const std::string want = "expected POINTER=VALUES, for example /failures/mtbf_hours=10,100, or spares=0..8";
  CHECK(axis_problem("/nodes") == want);
  CHECK(axis_problem("=3") == want);
  CHECK(axis_problem("/nodes,/x=1,2") ==
        "/values: has 1, but each value must be an array of 2 values, one per JSON pointer");
  CHECK(axis_problem("/nodes,/x=0..8:log") ==
        "\"0..8:log\" is not a valid range: the ends of a log scale must be above 0");
  CHECK(axis_problem("/nodes,/x=1..8:log") ==
        "/values: is a range, but each value must be an array of 2 values, one per JSON pointer");
  CHECK(axis_problem("failures/p=1") ==
        "/name: \"failures/p\" is not a JSON pointer; a JSON pointer begins with a slash, such as "
        "/failures/mtbf_hours");
  CHECK(axis_problem("2x=1") ==
        "/name: \"2x\" is not a valid name for a variable; use letters, digits and underscores, but not "
        "plan_nodes");
  CHECK(axis_problem("plan_nodes=1") ==
        "/name: \"plan_nodes\" is not a valid name for a variable; use letters, digits and underscores, but "
        "not plan_nodes");
  CHECK(axis_file_problem({{"values", {1}}}) ==
        "s.json /vary/0: must have exactly one of pointer, pointers and name, which define what varies");
  CHECK(axis_file_problem({{"pointer", "nodes"}, {"values", {1}}}) ==
        "s.json /vary/0/pointer: \"nodes\" is not a JSON pointer; a JSON pointer begins with a slash, such "
        "as /failures/mtbf_hours");
  CHECK(axis_file_problem({{"pointer", "/nodes"}, {"values", {1}}, {"sets", {{"/x", "1"}}}}) ==
        "s.json /vary/0/sets: uses variables, so the axis must have a name instead of a JSON pointer");
  CHECK(axis_file_problem({{"name", "a"}, {"values", {1}}, {"sets", {{"/x", "1 +"}}}}) ==
        "s.json /vary/0/sets/~1x: \"1 +\" is not a valid expression: expected a number, a name or a "
        "parenthesis at the end");
  CHECK(axis_file_problem({{"name", "a"}, {"values", {1}}, {"sets", {{"/x", 1}}}}) ==
        "s.json /vary/0/sets/~1x: must be a string such as \"128 + spares\", not 1");
  CHECK(axis_file_problem({{"name", "a"}, {"values", {1}}, {"sets", 1}}) ==
        "s.json /vary/0/sets: must be an object that maps JSON pointers to expressions, not 1");
  CHECK(axis_file_problem({{"name", "a"}, {"values", 1}}) ==
        "s.json /vary/0/values: must be a string as on the command line, or an array of values, not 1");
  CHECK(axis_file_problem({{"name", "a"}, {"values", "1,,2"}}) ==
        "s.json /vary/0/values: has an empty value; write \"\" for an empty string");
}

}  // namespace goodput
