#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "models/policy/policy.h"
#include "sim/base/json.h"
#include "tests/tools/simulate/small_scenario.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput {
namespace {

struct Said {
  ExitCode code{};
  std::string out;
  std::string err;
};

Said say(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "simulate");
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_command_line(builtin_commands(), arguments, out, err);
  return {code, out.str(), err.str()};
}

// But for the names of files, of which one is temporary.
Json result_of(const Json& scenario, std::vector<std::string> options = {}) {
  const TemporaryFile file("scenario.json", scenario.dump());
  options.insert(options.begin(), {file.path(), "--quiet", "--json", "-"});
  const Said said = say(options);
  REQUIRE_MESSAGE(said.code == ExitCode::kOk, said.err);
  Json result = Json::parse(said.out);
  CHECK(result.at("config_files").at(0) == file.path());
  result.erase("config_files");
  return result;
}

Json every_policy() {
  Json text = testing::small_scenario();
  for (const PolicyInfo& policy : recovery_policies())
    text["policies"][std::string(policy.name)] = Json::object();
  return text;
}

double sum_of(const Json& times) {
  double sum = 0;
  for (const auto& [bucket, time] : times.items()) sum += time.get<double>();
  return sum;
}

}  // namespace

TEST_CASE("simulate: the time of the job and of its nodes adds up, under every policy" *
          doctest::test_suite("slow")) {
  const Json result = result_of(every_policy(), {"--trials", "3"});
  CHECK(result.at("policies").size() == recovery_policies().size());
  // Lost at 300 and 600 s of 900: 10, 9 and 8 nodes for 300 s each.
  for (const auto& item : result.at("policies").items()) {
    const Json& policy = item.value;
    INFO(item.key);
    CHECK(sum_of(policy.at("time_s")) == doctest::Approx(policy.at("wall_s").get<double>()).epsilon(1e-9));
    CHECK(sum_of(policy.at("node_time_s")) == doctest::Approx(27 * 300.0).epsilon(1e-9));
    CHECK(policy.at("goodput").get<double>() ==
          doctest::Approx(policy.at("time_s").at("productive").get<double>() / 900).epsilon(1e-9));
  }
}

TEST_CASE("simulate: a result can be run again from its own report" * doctest::test_suite("slow")) {
  const Json result = result_of(every_policy(), {"--trials", "2", "--set", "/failures/every_s=200"});
  CHECK(result.at("scenario").at("trials") == 2);
  const Json again = result_of(result.at("scenario"));
  CHECK(again.at("config_hash") == result.at("config_hash"));
  CHECK(again.at("policies") == result.at("policies"));
  CHECK(again.at("scenario") == result.at("scenario"));
}

TEST_CASE("simulate: a change inside the named plan is in the report, which can be run again") {
  const std::vector<std::string> slower = {"--policy", "ds", "--set", "/plan/cluster/gpu/bf16_tflops=20"};
  const Json result = result_of(testing::small_scenario(), slower);
  CHECK(result.at("scenario").at("plan").at("cluster").at("gpu").at("bf16_tflops") == 20);
  const Json plain = result_of(testing::small_scenario(), {"--policy", "ds"});
  CHECK(result.at("config_hash") != plain.at("config_hash"));
  CHECK(result.at("policies") != plain.at("policies"));
  const Json again = result_of(result.at("scenario"));
  CHECK(again.at("config_hash") == result.at("config_hash"));
  CHECK(again.at("policies") == result.at("policies"));
}

TEST_CASE("simulate: the same bytes for any number of threads" * doctest::test_suite("slow")) {
  Json text = testing::small_scenario();
  text["failures"] = {{"model", "exponential"}, {"nodes", 10}, {"mtbf_hours", 1}, {"repair_s", 100}};
  const Json one = result_of(text, {"--trials", "16", "--jobs", "1"});
  CHECK(one.dump() == result_of(text, {"--trials", "16", "--jobs", "3"}).dump());
  CHECK(one.at("policies") != result_of(text, {"--trials", "16", "--seed", "1"}).at("policies"));
}

TEST_CASE("simulate: --policy leaves the others out and does not move the numbers of those it names" *
          doctest::test_suite("slow")) {
  const Json all = result_of(testing::small_scenario());
  const Json ds = result_of(testing::small_scenario(), {"--policy", "ds"});
  CHECK(ds.at("policies").size() == 1);
  CHECK(ds.at("policies").at("ds") == all.at("policies").at("ds"));
  CHECK(ds.at("ratios").empty());
  CHECK(ds.at("config_hash") != all.at("config_hash"));
}

TEST_CASE("simulate: --policy takes several, in any order") {
  const Json result = result_of(every_policy(), {"--policy", "ds_ft", "--policy", "lazarus"});
  CHECK(result.at("policies").size() == 2);
  CHECK(result.at("ratios").contains("lazarus/ds_ft"));
}

TEST_CASE("simulate: ratios are of the policies' numbers, trial by trial") {
  const Json result = result_of(testing::small_scenario());
  const Json& policies = result.at("policies");
  CHECK(result.at("ratios").at("lazarus/ds").at("samples").get<double>() ==
        doctest::Approx(policies.at("lazarus").at("samples").get<double>() /
                        policies.at("ds").at("samples").get<double>()));
  CHECK(result.at("ratios").at("lazarus/ds").at("jct_s").is_null());
  CHECK(result.at("ratios").at("lazarus/ds").at("ci").empty());
}

TEST_CASE("simulate: a goal that is reached has a completion time, intervals come with trials") {
  Json text = testing::small_scenario();
  text.erase("duration_s");
  text["samples"] = 4000;
  const Json result = result_of(text, {"--trials", "4", "--policy", "lazarus"});
  const Json& lazarus = result.at("policies").at("lazarus");
  CHECK(lazarus.at("finished") == 4);
  CHECK(lazarus.at("jct_s") == lazarus.at("wall_s"));
  CHECK(lazarus.at("stopped").is_null());
  const auto interval = lazarus.at("ci").at("samples").get<std::vector<double>>();
  const double samples = lazarus.at("samples").get<double>();
  CHECK(interval.at(0) <= samples);
  CHECK(interval.at(1) >= samples);
}

TEST_CASE("simulate: what nobody gave a price costs null, not nothing" * doctest::test_suite("slow")) {
  CHECK(result_of(testing::small_scenario()).at("policies").at("ds").at("cost").is_null());
  Json text = testing::small_scenario();
  text["usd_per_node_hour"] = 2;
  // 27 x 300 node-seconds = 2.25 node-hours.
  CHECK(result_of(text).at("policies").at("ds").at("cost").get<double>() == doctest::Approx(4.5));
}

TEST_CASE("simulate: a job that cannot go on says why, and that is no error" * doctest::test_suite("slow")) {
  Json text = testing::small_scenario();
  text.erase("duration_s");
  text["samples"] = 1000000000;
  text["failures"]["floor_nodes"] = 0;
  const Json result = result_of(text);
  for (const auto& item : result.at("policies").items()) {
    const Json& policy = item.value;
    INFO(item.key);
    CHECK(policy.at("jct_s").is_null());
    REQUIRE(policy.at("stopped").is_string());
    CHECK(policy.at("stopped_trials").at(policy.at("stopped").get<std::string>()) == 1);
  }
}

TEST_CASE("simulate: hashes are of the scenario, not of where its files lie") {
  const std::string content = "t_s,event,node\n0,add,a\n0,add,b\n0,add,c\n600,remove,a\n";
  const TemporaryFile one("one.csv", content);
  const TemporaryFile copy("copy.csv", content);
  Json text = testing::small_scenario();
  text["failures"] = {{"model", "trace"}, {"file", one.path()}, {"meaning", "held"}};
  const Json first = result_of(text, {"--policy", "ds"});
  text["failures"]["file"] = copy.path();
  const Json second = result_of(text, {"--policy", "ds"});
  CHECK(first.at("config_hash") == second.at("config_hash"));
  CHECK(first.at("inputs") != second.at("inputs"));
  CHECK(result_of(text, {"--policy", "ds", "--set", "/failures/from_s=60"}).at("config_hash") !=
        second.at("config_hash"));
  // The recording says which node is lost.
  CHECK(result_of(text, {"--policy", "ds", "--set", "/failures/victims=\"newest\""}).at("config_hash") ==
        second.at("config_hash"));
}

TEST_CASE("simulate: keys that move nothing are named, and are not in the scenario of the report") {
  const TemporaryFile trace("trace.csv", "t_s,event,node\n0,add,a\n0,add,b\n0,add,c\n600,remove,a\n");
  Json text = testing::small_scenario();
  text["failures"] = {{"model", "trace"},    {"file", trace.path()},    {"meaning", "held"},
                      {"victims", "oldest"}, {"polarity", "available"}, {"holes", "hold"},
                      {"probe", "replay"}};
  text["routing"]["skew"] = 1;
  text["policies"] = {{"ds", {{"checkpoint", {{"mtbf_hours", 3}}}, {"slow_nodes", {{"action", "swap"}}}}},
                      {"lazarus", Json::object()}};
  const Json result = result_of(text);
  const auto named = [&](const std::string& pointer, const std::string& why) {
    for (const Json& key : result.at("unused_keys"))
      if (key.at("pointer") == pointer && key.at("why") == why) return true;
    return false;
  };
  CHECK(result.at("unused_keys").size() == 7);
  CHECK(named("/routing/skew", "model is given"));
  CHECK(named("/failures/victims", "the recording names the nodes"));
  CHECK(named("/failures/polarity", "the recording names the nodes"));
  CHECK(named("/failures/holes", "the replayed part of the recording has no holes"));
  CHECK(named("/failures/probe", "the counts of the recording are not of kind probe"));
  CHECK(named("/policies/ds/checkpoint/mtbf_hours", "interval is \"fixed\""));
  CHECK(named("/policies/ds/slow_nodes", "no failure model makes nodes slow"));
  const Json again = result_of(result.at("scenario"));
  CHECK(again.at("unused_keys").empty());
  CHECK(again.at("config_hash") == result.at("config_hash"));
  CHECK(again.at("policies") == result.at("policies"));
  CHECK(result_of(text, {"--policy", "lazarus"}).at("unused_keys").size() == 5);
  const TemporaryFile file("scenario.json", text.dump());
  CHECK(say({file.path()})
            .out.find("warning: /policies/ds/checkpoint/mtbf_hours has no effect: interval is "
                      "\"fixed\"\n") != std::string::npos);
}

TEST_CASE("simulate: no output replaces a file that was read") {
  const TemporaryFile trace("t.csv", "t_s,event,node\n0,add,a\n600,remove,a\n");
  Json text = testing::small_scenario();
  text["failures"] = {{"model", "trace"}, {"file", trace.path()}, {"meaning", "held"}};
  const TemporaryFile file("scenario.json", text.dump());
  const Said over_trace = say({file.path(), "--throughput", trace.path()});
  CHECK(over_trace.code == ExitCode::kBadInput);
  CHECK(over_trace.err.find("is both input and output (--throughput)") != std::string::npos);
  CHECK(say({file.path(), "--json", file.path()}).code == ExitCode::kBadInput);
  CHECK(file.content() == text.dump());
}

}  // namespace goodput
