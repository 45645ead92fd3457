// Pools of nodes as one cluster.
#include "models/failure/failure_pools.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "tests/models/failure/failure_stream.h"
#include "tests/support/scripted_failures.h"

namespace goodput::testing {
namespace {

using std::chrono::seconds;

std::unique_ptr<FailureModel> scripted(NodeEvents events, std::optional<SimTime> end = std::nullopt) {
  return std::make_unique<ScriptedFailures>(std::move(events), end);
}

std::unique_ptr<FailureModel> joined_of(std::unique_ptr<FailureModel> first,
                                        std::unique_ptr<FailureModel> second) {
  std::vector<std::unique_ptr<FailureModel>> pools;
  pools.push_back(std::move(first));
  pools.push_back(std::move(second));
  return join_pools(std::move(pools));
}

}  // namespace

TEST_CASE("failure pools: ids of a pool follow those of the pool before it") {
  const auto both = joined_of(scripted(held(2, {lost(seconds{5}, 1), joined(seconds{9}, 1)})),
                              scripted(held(3, {lost(seconds{5}, 0), slowed(seconds{9}, 2, 0.5)})));
  CHECK(both->nodes() == 5);
  CHECK(shown(check_stream(*both, SimTime::max())) == "0 +0 +1 +2 +3 +4 | 5 -1 -2 | 9 +1 ~4@0.5");
}

TEST_CASE("failure pools: a pool to which nothing more happens does not hold up the others") {
  const auto both = joined_of(scripted(held(1)), scripted(held(1, {lost(seconds{7}, 0)})));
  CHECK(shown(check_stream(*both, SimTime::max())) == "0 +0 +1 | 7 -1");
}

TEST_CASE("failure pools: the first recording that ends is the end of all") {
  CHECK(!joined_of(scripted(held(1)), scripted(held(1)))->end());
  CHECK(joined_of(scripted(held(1)), scripted(held(1), at_s(30)))->end() == at_s(30));
  CHECK(joined_of(scripted(held(1), at_s(20)), scripted(held(1), at_s(30)))->end() == at_s(20));
}

TEST_CASE("failure pools: the draws of a pool are those of its name, whatever the other pools do") {
  const auto configs =
      read_failures(R"({"model": "exponential", "nodes": 4, "mtbf_hours": 20, "repair_s": 60})");
  REQUIRE(configs);
  const auto events = [&](std::string_view pool) {
    return check_stream(**make_failure_model(*configs, {}, 1, 0, pool), at_s(1e6));
  };
  CHECK(events("spot") == events("spot"));
  CHECK(events("spot") != events("reserved"));
  CHECK(events("spot") != events(""));
  const NodeEvents alone = events("spot");
  const auto both =
      joined_of(scripted(held(3, {lost(seconds{1234}, 2)})), *make_failure_model(*configs, {}, 1, 0, "spot"));
  NodeEvents second;
  for (NodeEvent event : check_stream(*both, at_s(1e6))) {
    event.node -= 3;
    if (event.node >= 0) second.push_back(event);
  }
  CHECK(second == alone);
}

}  // namespace goodput::testing
