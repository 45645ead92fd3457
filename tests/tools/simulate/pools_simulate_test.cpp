// `goodput simulate` of several pools of nodes: what each costs, and how the output names them.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/scenario/pools.h"
#include "sim/base/json.h"
#include "tests/tools/simulate/key_effect.h"
#include "tests/tools/simulate/simulate_run.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput::testing {
namespace {

// 2 nodes, at 1 USD an hour and from 1800 s on at 3, from 1800 s to 3600 s one.
constexpr const char* kPricedCounts = "t_s,held,usd_per_node_hour\n0,2,1\n1800,1,3\n3600,2,\n7200,2,\n";

// 4 nodes of which node 0 is lost at 1000 s and back at 1900 s, and the recording.
Json two_pools(const std::string& recording) {
  const Json base = {{"name", "base"},
                     {"failures",
                      {{"model", "interval"},
                       {"nodes", 4},
                       {"every_s", 1000},
                       {"floor_nodes", 3},
                       {"return_after_s", 100'000},
                       {"victims", {0}}}},
                     {"usd_per_node_hour", 98},
                     {"billing", "reserved"}};
  const Json spot = {{"name", "spot"}, {"failures", {{"model", "trace"}, {"file", recording}}}};
  return {{"plan", "lazarus-gpt-s"},
          {"pools", {base, spot}},
          {"duration_s", 7200},
          {"policies", {{"checkpoint", Json::object()}}}};
}

}  // namespace

TEST_CASE("simulate: every pool costs what its nodes cost, at its own price and billing") {
  const TemporaryFile recording("counts.csv", kPricedCounts);
  const Json result = simulate_result(two_pools(recording.path()));
  const Json& policy = result.at("policies").at("checkpoint");
  // Four reserved nodes for two hours; two nodes for half an hour at 1, one for half an hour at 3, two for an
  // hour at 3.
  const double base = 4 * 2 * 98;
  const double spot = 1 + 1.5 + 6;
  CHECK(policy.at("cost_by_pool").at("base").get<double>() == doctest::Approx(base).epsilon(1e-14));
  CHECK(policy.at("cost_by_pool").at("spot").get<double>() == doctest::Approx(spot).epsilon(1e-14));
  CHECK(policy.at("cost").get<double>() == doctest::Approx(base + spot).epsilon(1e-14));
  CHECK(result.at("inputs").at(0).at("pointer") == "/pools/1/failures/file");
}

TEST_CASE("simulate: efficiency is of the node time that is paid for") {
  const TemporaryFile recording("counts.csv", kPricedCounts);
  Json scenario = two_pools(recording.path());
  const Json reserved = simulate_result(scenario).at("policies").at("checkpoint");
  scenario["pools"][0]["billing"] = "held";
  const Json held = simulate_result(scenario).at("policies").at("checkpoint");
  // Held: the base lacks a node for 6200 of 7200 s, spot one for 1800 s. Reserved: all four of the base.
  const double held_s = 4 * 7200 - 6200 + 2 * 7200 - 1800;
  CHECK(held.at("samples") == reserved.at("samples"));
  CHECK(reserved.at("efficiency").get<double>() * (held_s + 6200) ==
        doctest::Approx(held.at("efficiency").get<double>() * held_s).epsilon(1e-12));
  CHECK(held.at("cost").get<double>() ==
        doctest::Approx(reserved.at("cost").get<double>() - 98 * 6200 / 3600.).epsilon(1e-12));
}

TEST_CASE("simulate: a scenario of one pool is billed as it says, too") {
  Json scenario = two_pools("");
  scenario["failures"] = scenario["pools"][0]["failures"];
  scenario.erase("pools");
  scenario["usd_per_node_hour"] = 98;
  const Json held = simulate_result(scenario).at("policies").at("checkpoint");
  CHECK(held.at("cost").get<double>() == doctest::Approx(98 * (4 * 7200 - 6200) / 3600.).epsilon(1e-12));
  CHECK(!held.contains("cost_by_pool"));
  scenario["billing"] = "reserved";
  const Json reserved = simulate_result(scenario).at("policies").at("checkpoint");
  CHECK(reserved.at("cost").get<double>() == doctest::Approx(98 * 4 * 2).epsilon(1e-12));
}

TEST_CASE("simulate: text names pools, their nodes and prices, and what they cost") {
  const TemporaryFile recording("counts.csv", kPricedCounts);
  const std::string out = simulate_run(two_pools(recording.path())).out;
  CHECK(out.find("\nNodes: base: 4 nodes at $98.00 per hour, reserved\n         interval (a node is lost at "
                 "fixed intervals until only floor_nodes are left)\n       spot: recorded nodes at recorded "
                 "prices, held\n         trace (replays a recording of spot nodes or a failure log, or part "
                 "of it)\n") != std::string::npos);
  CHECK(out.find("\nnode cost by pool  checkpoint\nbase                  $784.00\nspot                    "
                 "$8.50\n") != std::string::npos);
}

TEST_CASE("simulate: a pool without a price says so, one of a recording without prices too") {
  const TemporaryFile unpriced("counts.csv", "t_s,held\n0,2\n7200,2\n");
  const std::string remedy =
      ": is missing, and no recording of the pool has prices; set the price (0 if the nodes are free)\n";
  CHECK(simulate_run(two_pools(unpriced.path())).err == "error: s.json /pools/1/usd_per_node_hour" + remedy);
  Json scenario = two_pools(unpriced.path());
  scenario["pools"][1]["usd_per_node_hour"] = 0;
  scenario["pools"][0].erase("usd_per_node_hour");
  CHECK(simulate_run(scenario).err == "error: s.json /pools/0/usd_per_node_hour" + remedy);
}

TEST_CASE("pool keys: each moves something, or is named where it does not" *
          doctest::test_suite("release-only")) {
  const TemporaryFile recording("counts.csv", kPricedCounts);
  Json other = two_pools("").at("pools").at(0).at("failures");
  other["every_s"] = 500;
  const std::vector<KeyWitness> witnesses = {
      {"name", {"base", "other"}},
      {"failures", {two_pools("").at("pools").at(0).at("failures"), other}},
      {"usd_per_node_hour", {1, 2}},
      {"billing", {"held", "reserved"}},
  };
  PoolConfig pool;
  check_keys(config_fields(pool), two_pools(recording.path()), "/pools/0", witnesses);
}

}  // namespace goodput::testing
