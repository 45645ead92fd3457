// Every key of a scenario's own moves something, or is named where it does not.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "models/scenario/scenario.h"
#include "sim/base/json.h"
#include "tests/tools/simulate/key_effect.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput::testing {
namespace {

Json interval(int every_s) {
  return {{"model", "interval"}, {"nodes", 10}, {"every_s", every_s}};
}

Json pool(int every_s) {
  return {{"name", "base"}, {"failures", interval(every_s)}, {"usd_per_node_hour", 1}};
}

Json eventful_scenario() {
  return {{"plan", std::string(GOODPUT_CONFIGS) + "/plans/lazarus-gpt-s.json"},
          {"failures", interval(310)},
          {"duration_s", 1200},
          {"policies", {{"ds", Json::object()}}}};
}

// Loads of eight experts of 13 layers: of the first layer most tokens go to `hot`, later on to the next one.
std::string routing_csv(int hot) {
  std::string text = "iter,layer,e0,e1,e2,e3,e4,e5,e6,e7,e8,e9\n";
  for (const int iteration : {0, 400}) {
    for (int layer = 0; layer < 13; ++layer) {
      text += fmt::format("{},{}", iteration, layer);
      for (int expert = 0; expert < 10; ++expert) {
        const bool is_hot = expert == (hot + layer + iteration / 400) % 10;
        text += fmt::format(",{}", is_hot ? 1000 + 100 * layer : 100 - 9 * ((expert + iteration / 400) % 10));
      }
      text += '\n';
    }
  }
  return text;
}

// A raw log of the same 13 layers and 10 experts: rank `rank` has more tokens for some of them.
std::string rank_log(int rank) {
  std::string text;
  for (int layer = 0; layer < 13; ++layer) {
    text += fmt::format("{}:[[", layer);
    for (int expert = 0; expert < 10; ++expert)
      text += fmt::format("{}{}", expert > 0 ? "," : "", expert % 2 == rank ? 100 : 1);
    text += "]]\n";
  }
  return text;
}

}  // namespace

TEST_CASE("scenario keys: each moves something, or is named where it does not" *
          doctest::test_suite("release-only")) {
  const TemporaryFile routing("routing.csv", routing_csv(0));
  const TemporaryFile other("other.csv", routing_csv(3));
  const TemporaryFile model("model.json", R"({"layers": 12, "experts": 8, "top_k": 1})");
  const std::string configs = GOODPUT_CONFIGS;
  const TemporaryFile log("table_iter1_rank0.log", rank_log(0));
  const std::string logs = std::filesystem::path(log.path()).parent_path();
  std::ofstream(logs + "/table_iter1_rank1.log") << rank_log(1);
  const Settings flexible = {{"routing/file", routing.path()}, {"/policies/lazarus", Json::object()}};
  Settings with_logs = flexible;
  with_logs.emplace_back("routing/per_rank/folder", logs);
  const Settings recorded = {{"routing/file", routing.path()}};
  const Settings nothing_recorded = {{"routing/skew", 0}};
  const Settings well_founded = {{"/plan", measured_plan()}, {"/policies/ds/tier", "measured"}};
  const std::vector<KeyWitness> witnesses = {
      {"plan", {configs + "/plans/lazarus-gpt-s.json", configs + "/plans/lazarus-gpt-m.json"}},
      {"nodes", {8, 10}},
      {"max_training_nodes", {6, 10}},
      {"batch", {"fixed", "per_replica"}},
      {"routing/file", {routing.path(), other.path()}},
      {"routing/model", {configs + "/routing/smartmoe-like.json", model.path()}},
      {"routing/layers", {"0-11", "1-12"}, recorded, nothing_recorded},
      {"routing/top_at_iteration", {0, 400}, recorded, nothing_recorded},
      {"routing/after_end",
       {"hold", "loop"},
       {{"routing/file", routing.path()}, {"/duration_s", 2400}},  // until well after iteration 800
       nothing_recorded},
      {"routing/skew", {0, 2}, {}, recorded},
      {"routing/hot_load", {0, 2}, {}, recorded},
      {"routing/per_rank/spread", {0, 2}, flexible, with_logs},
      {"routing/per_rank/folder", {logs, ""}, flexible},
      {"failures", {interval(200), interval(500)}},
      {"samples", {1000, 10'000}},
      {"steps", {100, 200}},
      {"tokens", {1'000'000, 10'000'000}},
      {"duration_s", {1000, 1100}},
      {"deadline_s", {60, 1200}, {{"/samples", 1000}}},
      {"trials", {1, 2}},
      {"start", {"cold", "running"}},
      {"usd_per_node_hour", {1, 2}},
      {"pools", {pool(310), pool(200)}, {{"failures", nullptr}}},
      {"billing", {"held", "reserved"}, {}, {{"failures", nullptr}, {"pools", pool(310)}}},
      {"usd_per_tb_written", {1, 2}},
      {"policies", {{{"ds", Json::object()}}, {{"checkpoint", Json::object()}}}},
      {"tier", {"assumed", "measured"}, well_founded},
  };
  Scenario scenario;
  check_keys(config_fields(scenario), eventful_scenario(), "", witnesses);
}

}  // namespace goodput::testing
