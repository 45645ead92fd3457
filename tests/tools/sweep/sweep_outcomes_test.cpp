// The points of a sweep for charts: which are shown, and what of them.
#include "tools/sweep/sweep_outcomes.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/base/json.h"

namespace goodput {
namespace {

// A point at which `ds` came to this cost and time, in a trial.
PointRows outcome_at(std::uint64_t point, double cost, double jct_s) {
  PolicyRows rows;
  rows.name = "ds";
  rows.tier = "model";
  rows.trials.push_back({true, {}, {}});
  rows.estimates = {{"cost", {cost, std::array{cost - 1, cost + 1}, false}}, {"jct_s", {jct_s, {}, false}}};
  return {point, "0", {}, {rows}};
}

// Side x side points: a grid of "/a" and "/b".
SweepManifest grid_of(int side) {
  SweepManifest manifest;
  manifest.parameters = {"/a", "/b"};
  for (int a = 0; a < side; ++a) {
    for (int b = 0; b < side; ++b) manifest.values.push_back({std::to_string(a), std::to_string(b)});
  }
  return manifest;
}

Json json_of(const SweepOutcomes& outcomes, const SweepManifest& manifest,
             const std::vector<SweepSummary::Best>& best, std::size_t most) {
  return Json::parse(outcomes.json(manifest, best, most).dump());
}

}  // namespace

TEST_CASE("sweep outcomes: a row a point and policy, with the ends of its intervals") {
  SweepOutcomes outcomes;
  outcomes.add(outcome_at(0, 10, 100));
  PointRows second = outcome_at(1, 20, 50);
  second.policies.push_back({});
  second.policies.back().name = "refused";
  second.policies.back().refused = "too few nodes";
  outcomes.add(second);
  SweepManifest manifest;
  manifest.parameters = {"/nodes"};
  manifest.values = {{"4"}, {"\"many\""}};
  const Json result = json_of(outcomes, manifest, {}, 10);
  CHECK(result.at("rows") == 2);
  CHECK(result.at("left_out") == 0);
  CHECK(result.at("point") == Json({0, 1}));
  CHECK(result.at("policy") == Json({"ds", "ds"}));
  CHECK(result.at("finished") == Json({true, true}));
  CHECK(result.at("parameters").at("/nodes") == Json({4, "many"}));
  CHECK(result.at("metrics").at("cost").at("value") == Json({10, 20}));
  CHECK(result.at("metrics").at("cost").at("low") == Json({9, 19}));
  CHECK(result.at("metrics").at("cost").at("high") == Json({11, 21}));
  CHECK(result.at("metrics").at("jct_s").at("low") == Json({nullptr, nullptr}));
  CHECK_FALSE(result.at("metrics").contains("goodput"));  // no row has one
}

TEST_CASE("sweep outcomes: of too many rows the lines through the best point stay") {
  // 20 x 20 points; the best is in the middle, 10, 10: number 210. 39 points differ from it in one parameter
  // or none.
  const SweepManifest manifest = grid_of(20);
  SweepOutcomes outcomes;
  for (std::uint64_t point = 0; point < 400; ++point)
    outcomes.add(outcome_at(point, point == 210 ? 1 : 1000, 1000));
  const SweepSummary::Best best{TrialMetric::kCost, {1, {}, false}, 210, "ds", true};
  const Json result = json_of(outcomes, manifest, {best}, 60);
  CHECK(result.at("rows") == 60);
  CHECK(result.at("left_out") == 340);
  int on_lines = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    const Json& parameters = result.at("parameters");
    on_lines += parameters.at("/a").at(i) == 10 || parameters.at("/b").at(i) == 10 ? 1 : 0;
  }
  CHECK(on_lines == 39);
}

TEST_CASE("sweep outcomes: of too many rows what there is to choose between cost and time stays") {
  // Point k costs k and takes 1000 - k up to 9, then all cost more and take longer.
  SweepManifest manifest;
  manifest.parameters = {"/a"};
  SweepOutcomes outcomes;
  for (std::uint64_t point = 0; point < 100; ++point) {
    manifest.values.push_back({std::to_string(point)});
    const auto number = static_cast<double>(point);
    outcomes.add(point < 10 ? outcome_at(point, number, 1000 - number) : outcome_at(point, 2000, 2000));
  }
  CHECK(json_of(outcomes, manifest, {}, 10).at("point") == Json({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

}  // namespace goodput
