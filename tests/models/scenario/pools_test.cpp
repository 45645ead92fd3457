// Pools of nodes in a scenario: how they are read, and what is said against them.
#include "models/scenario/pools.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/scenario/scenario.h"
#include "sim/base/json.h"
#include "tests/models/failure/failure_stream.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput::testing {
namespace {

Json exponential(int nodes) {
  return {{"model", "exponential"}, {"nodes", nodes}, {"mtbf_hours", 24}, {"repair_s", 600}};
}
Json pool(const std::string& name, int nodes) {
  return {{"name", name}, {"failures", exponential(nodes)}, {"usd_per_node_hour", 2}};
}
Json scenario_with(const Json& pools) {
  return Json{{"plan", std::string(GOODPUT_CONFIGS) + "/plans/lazarus-gpt-s.json"},
              {"pools", pools},
              {"duration_s", 3600},
              {"policies", {{"ds", Json::object()}}}};
}

Result<Scenario> try_read(const TemporaryFile& file) {
  return read_scenario(file.path(), {}, config::Library{{GOODPUT_CONFIGS}});
}
Scenario read(const Json& text) {
  const TemporaryFile file("s.json", text.dump());
  Result<Scenario> scenario = try_read(file);
  REQUIRE_MESSAGE(scenario, (scenario ? "" : scenario.error().message()));
  return *std::move(scenario);
}
std::string problem(const Json& text) {
  const TemporaryFile file("s.json", text.dump());
  const Result<Scenario> scenario = try_read(file);
  return scenario ? "" : without_path(scenario.error().message(), file);
}

NodeEvents events_of(const Scenario& scenario) {
  const auto failures = make_failures(scenario, {}, 1, 0);
  REQUIRE_MESSAGE(failures, (failures ? "" : failures.error().message()));
  return check_stream(**failures, at_s(1e6));
}
// Those of the nodes first .. first+nodes-1, by their number from there.
NodeEvents of_nodes(const NodeEvents& events, NodeId first, NodeId nodes) {
  NodeEvents some;
  for (NodeEvent event : events) {
    event.node -= first;
    if (event.node >= 0 && event.node < nodes) some.push_back(event);
  }
  return some;
}

}  // namespace

TEST_CASE("pools: each has failures, a price and a billing of its own, in the order written") {
  Json spot = pool("spot", 6);
  spot["billing"] = "reserved";
  const Scenario scenario = read(scenario_with({spot, pool("base", 4)}));
  CHECK(scenario.failures.empty());
  REQUIRE(scenario.pools.size() == 2);
  CHECK(scenario.pools[0].name == "spot");
  CHECK(scenario.pools[0].billing == Billing::kReserved);
  CHECK(scenario.pools[1].usd_per_node_hour == 2);
  CHECK(scenario.pools[1].billing == Billing::kHeld);
  const auto all = all_failures(scenario);
  REQUIRE(all.size() == 2);
  CHECK(all[1].pointer == "/pools/1/failures");
  Scenario echoed = scenario;
  const Json written = config::write(config_fields(echoed));
  CHECK(!written.contains("failures"));
  CHECK(written.at("pools").at(0).at("billing") == "reserved");
  CHECK(read(scenario_with(written.at("pools"))).pools[1].name == "base");
}

TEST_CASE("pools: one is as good as an array of one, and presets are named in it") {
  Json one = pool("base", 4);
  one["failures"] = {{"preset", "rsc-1"}, {"nodes", 4}};
  const Scenario scenario = read(scenario_with(one));
  REQUIRE(scenario.pools.size() == 1);
  CHECK(scenario.tier == Tier::kAssumed);  // of the preset
  CHECK(all_failures(scenario).at(0).config->preset());
  CHECK(events_of(scenario) == events_of(read(scenario_with(Json::array({one})))));
}

TEST_CASE("pools: a pool's failures act on its nodes alone, and do not depend on the other pools") {
  const NodeEvents both = events_of(read(scenario_with({pool("base", 4), pool("spot", 6)})));
  const NodeEvents spot = events_of(read(scenario_with({pool("spot", 6)})));
  CHECK(of_nodes(both, 4, 6) == spot);
  CHECK(of_nodes(both, 0, 4) == events_of(read(scenario_with({pool("base", 4)}))));
  CHECK(of_nodes(events_of(read(scenario_with({pool("other", 9), pool("spot", 6)}))), 9, 6) == spot);
}

TEST_CASE("pools: a scenario without them has one, of what it says itself") {
  Json text = scenario_with(Json::array());
  text.erase("pools");
  text["failures"] = {exponential(4),
                      {{"model", "bursts"}, {"kind", "fleet"}, {"per_hour", 1}, {"outage_s", 9}}};
  text["usd_per_node_hour"] = 3;
  text["billing"] = "reserved";
  const Scenario scenario = read(text);
  const auto pools = pools_of(scenario);
  REQUIRE(pools.size() == 1);
  CHECK(pools[0].name.empty());
  CHECK(pools[0].usd_per_node_hour == 3);
  CHECK(pools[0].billing == Billing::kReserved);
  CHECK(all_failures(scenario).at(1).pointer == "/failures/1");
  const auto alone = make_failure_model(scenario.failures, {}, 1, 0);
  REQUIRE(alone);
  CHECK(events_of(scenario) == check_stream(**alone, at_s(1e6)));
}

TEST_CASE("pools: a job loses nodes at the rate of the pools that it fills first") {
  Json often = pool("often", 4);
  often["failures"]["mtbf_hours"] = 1;
  const Scenario scenario = read(scenario_with({often, pool("seldom", 6)}));
  const auto rate = make_interruption_rate(scenario, {}, 1, {4, 6});
  REQUIRE(rate);
  CHECK((*rate)(3) == doctest::Approx(3 / 3600.).epsilon(1e-14));
  CHECK((*rate)(6) == doctest::Approx(4 / 3600. + 2 / 86400.).epsilon(1e-14));
}

TEST_CASE("pools: what is wrong is named with its place") {
  CHECK(problem(scenario_with(Json::array())) == " /pools: must have at least one pool");
  CHECK(problem(scenario_with(3)) == " /pools: must be an object, not 3");
  CHECK(problem(scenario_with({pool("a", 4), pool("a", 4)})) ==
        " /pools/1/name: is \"a\", which is also the name of another pool; give each pool its own name");
  CHECK(problem(scenario_with({pool("", 4)})) ==
        " /pools/name: is not a valid name; a name must have 1 to 64 characters on one line");
  CHECK(problem(scenario_with({{{"name", "a"}}})) ==
        " /pools/0/failures: is missing; it must be a failure model or an array of failure models");
  CHECK(problem(scenario_with({{{"failures", exponential(4)}}})) ==
        " /pools/0/name: is missing; it must be a string");
  Json both = scenario_with({pool("a", 4)});
  both["failures"] = exponential(4);
  CHECK(problem(both) == " /failures: must be set in each pool, not here; remove this key");
  Json priced = scenario_with({pool("a", 4)});
  priced["usd_per_node_hour"] = 3;
  CHECK(problem(priced) == " /usd_per_node_hour: must be set in each pool, not here; remove this key");
  Json neither = scenario_with({pool("a", 4)});
  neither.erase("pools");
  CHECK(problem(neither) == " /failures: is missing; give a failure model or an array of failure models");
}

TEST_CASE("pools: a pool says itself how many nodes it has") {
  Json text = pool("a", 4);
  text["failures"].erase("nodes");
  const Scenario scenario = read(scenario_with({pool("b", 2), text}));
  const auto failures = make_failures(scenario, {}, 1, 0);
  REQUIRE(!failures);
  CHECK(failures.error().where.pointer == "/pools/1/failures/nodes");
  CHECK(failures.error().what == "is missing; set the number of nodes");
}

}  // namespace goodput::testing
