// What the points of a sweep come to.
#include "tools/sweep/sweep_summary.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace goodput {
namespace {

PolicyRows policy_with(std::string name, std::vector<std::pair<std::string, double>> means,
                       bool finished = true) {
  PolicyRows rows;
  rows.name = std::move(name);
  rows.tier = "model";
  rows.trials.push_back({finished, {}, {}});
  for (auto& [metric, mean] : means) rows.estimates.push_back({std::move(metric), {mean, {}, false}});
  return rows;
}

PointRows point_with(std::uint64_t number, std::vector<PolicyRows> policies) {
  return {number, "0", {}, std::move(policies)};
}

std::string best_of(const SweepSummary& summary) {
  std::string text;
  for (const SweepSummary::Best& best : summary.best()) {
    text += fmt::format("{} {} at {} by {}; ", info(best.metric).name, best.estimate.mean, best.point,
                        best.policy);
  }
  return text;
}

std::string said_by(const std::vector<SweepSummary::Said>& all) {
  std::string text;
  for (const SweepSummary::Said& said : all)
    text += fmt::format("{}:{} x{} from {}; ", said.policy, said.what, said.points, said.first);
  return text;
}

}  // namespace

TEST_CASE("sweep summary: the best point by each metric, of equal ones the first") {
  SweepSummary summary;
  summary.add(
      point_with(0, {policy_with("a", {{"cost", 5}, {"goodput", 0.9}}), policy_with("b", {{"cost", 4}})}));
  summary.add(point_with(1, {policy_with("a", {{"cost", 4}, {"goodput", 0.8}})}));
  summary.add(point_with(2, {policy_with("a", {{"cost", 7}, {"goodput", 0.9}, {"steps", 1}})}));
  CHECK(best_of(summary) == "cost 4 at 0 by b; goodput 0.9 at 0 by a; ");
  CHECK(summary.points() == 3);
  CHECK(summary.ran() == 3);
  CHECK(summary.lowest_tier() == "model");
}

TEST_CASE("sweep summary: a job that was stopped before its goal is not cheap") {
  SweepSummary summary;
  summary.add(point_with(0, {policy_with("a", {{"cost", 1}}, false)}));
  CHECK(best_of(summary) == "cost 1 at 0 by a; ");
  summary.add(point_with(1, {policy_with("a", {{"cost", 9}}, true)}));
  summary.add(point_with(2, {policy_with("a", {{"cost", 2}}, false)}));
  CHECK(best_of(summary) == "cost 9 at 1 by a; ");
}

TEST_CASE("sweep summary: reasons are counted, the most frequent first") {
  SweepSummary summary;
  PolicyRows refused;
  refused.name = "b";
  refused.refused = "too few";
  PolicyRows warns = policy_with("a", {});
  warns.warnings = {"slow"};
  summary.add({0, {}, "one", {}});
  summary.add({1, {}, "two", {}});
  summary.add({2, {}, "two", {}});
  summary.add(point_with(3, {warns, refused}));
  CHECK(said_by(summary.errors()) == ":two x2 from 1; :one x1 from 0; ");
  CHECK(said_by(summary.refused()) == "b:too few x1 from 3; ");
  CHECK(said_by(summary.warnings()) == "a:slow x1 from 3; ");
  CHECK(summary.ran() == 1);
}

}  // namespace goodput
