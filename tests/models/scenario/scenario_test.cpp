// Scenarios: how they are read, changed from the command line, and what is said against bad ones.
#include "models/scenario/scenario.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

const std::string kPlan = std::string(GOODPUT_CONFIGS) + "/plans/lazarus-gpt-s.json";

Json good_scenario() {
  return Json{{"plan", kPlan},
              {"failures", {{"model", "exponential"}, {"nodes", 10}, {"mtbf_hours", 24}, {"repair_s", 600}}},
              {"duration_s", 3600},
              {"policies", {{"lazarus", Json::object()}, {"ds", {{"ep", 4}}}}}};
}

Scenario read(const Json& text, const std::vector<config::Change>& changes = {}) {
  const TemporaryFile file("s.json", text.dump());
  auto scenario = read_scenario(file.path(), changes);
  REQUIRE_MESSAGE(scenario, (scenario ? "" : scenario.error().message()));
  return *std::move(scenario);
}

// Without the file's path; "" when it is fine.
std::string problem(const Json& text, const std::vector<config::Change>& changes = {}) {
  const TemporaryFile file("s.json", text.dump());
  const auto scenario = read_scenario(file.path(), changes);
  return scenario ? "" : without_path(scenario.error().message(), file);
}
std::string problem_with(const std::string& pointer, const Json& value) {
  Json text = good_scenario();
  text[JsonPointer(pointer)] = value;
  return problem(text);
}

std::vector<std::string> names_of(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const ScenarioPolicy& policy : scenario.policies) names.push_back(policy.name);
  return names;
}

}  // namespace

TEST_CASE("scenario: what is not given has its default") {
  const Scenario scenario = read(good_scenario());
  CHECK(scenario.plan.model.name == "GPT-S");
  CHECK(scenario.plan.cluster.nodes == 10);
  CHECK(scenario.trials == 1);
  CHECK(scenario.start == JobStart::kCold);
  CHECK_FALSE(scenario.usd_per_node_hour);
  CHECK_FALSE(scenario.routing);
  CHECK(scenario.sources.size() == 2);  // its own, its plan's
  CHECK(scenario.failures.size() == 1);
  CHECK(scenario.goal().until == SimTime{std::chrono::hours{1}});
  CHECK_FALSE(scenario.goal().steps);
  CHECK_FALSE(scenario.goal().samples);
}

TEST_CASE("scenario: goals, nodes and prices are taken over") {
  Json text = good_scenario();
  text["samples"] = 1000;
  text["steps"] = 50;
  text["nodes"] = 12;
  text["usd_per_node_hour"] = 2.5;
  text["start"] = "running";
  const Scenario scenario = read(text);
  CHECK(scenario.goal().samples == 1000);
  CHECK(scenario.goal().steps == 50);
  CHECK(scenario.nodes == 12);
  CHECK(scenario.terms().most_nodes == 12);
  CHECK(scenario.usd_per_node_hour == 2.5);
  CHECK(scenario.start == JobStart::kRunning);
}

TEST_CASE("scenario: a job that is told no number of nodes uses those that the GPUs of its plan take") {
  Json text = good_scenario();
  CHECK(read(text).terms().most_nodes == 10);
  // 2 GPUs on nodes of 1, and 10 on nodes of 4, in a cluster of 10 nodes.
  CHECK(read(text, {{"/plan/parallel/dp", "2"}}).terms().most_nodes == 2);
  const std::vector<config::Change> big_nodes = {{"/plan/cluster/gpus_per_node", "4"}};
  CHECK(read(text, big_nodes).terms().most_nodes == 3);
  CHECK(read(text, big_nodes).plan.cluster.nodes == 10);
  // So many fail where the failures do not say.
  text["failures"].erase("nodes");
  FailureConfig settled = read(text, big_nodes).failures.front();
  CHECK(config::write(config_fields(settled)).at("nodes") == 3);
}

TEST_CASE("scenario: tokens are the first samples that cover them, and of two goals the nearer one counts") {
  Json text = good_scenario();  // sequences of 1024 tokens
  const auto goal_of = [&text](const Json& tokens, const Json& samples) {
    text["tokens"] = tokens;
    text["samples"] = samples;
    return read(text).goal().samples;
  };
  CHECK(goal_of(1024, 0) == 1);
  CHECK(goal_of(1025, 0) == 2);
  CHECK(goal_of(1, 0) == 1);
  CHECK(goal_of(1e12, 0) == 976'562'500);  // 10^12 / 2^10
  CHECK(goal_of(1e18, 0) == 976'562'500'000'000);
  CHECK(goal_of(10 * 1024, 11) == 10);
  CHECK(goal_of(10 * 1024, 9) == 9);
  CHECK_FALSE(goal_of(0, 0));
  text.erase("duration_s");
  text["tokens"] = 1;
  CHECK(read(text).has_goal());  // and that is an end
}

TEST_CASE("scenario: policies come in the order of the registry, and may be there twice under two names") {
  Json text = good_scenario();
  text["policies"] = {{"tutel", Json::object()},
                      {"ds", Json::object()},
                      {"b", {{"policy", "lazarus"}}},
                      {"a", {{"policy", "lazarus"}, {"slots_per_gpu", 4}}}};
  const Scenario scenario = read(text);
  CHECK(names_of(scenario) == std::vector<std::string>{"a", "b", "ds", "tutel"});
  CHECK(scenario.policies[0].policy == "lazarus");
  CHECK(Json::parse(scenario.policies[0].options) == Json{{"slots_per_gpu", 4}});
}

TEST_CASE("scenario: it is written back as it was read") {
  Json text = good_scenario();
  text["policies"]["mine"] = {{"policy", "pec"}, {"k_snapshot", 2}};
  Scenario scenario = read(text);
  const Json written = Json::parse(config::write(config_fields(scenario)).dump());
  CHECK(written["policies"] == text["policies"]);
  CHECK(written["duration_s"] == 3600);
}

TEST_CASE("scenario: values can be changed, and added where they are missing") {
  const Scenario scenario = read(good_scenario(), {{"/failures/mtbf_hours", "2"},
                                                   {"/trials", "7"},
                                                   {"/start", "running"},
                                                   {"/policies/ds/ep", "8"},
                                                   {"/policies/pec", "{}"}});
  CHECK(scenario.trials == 7);
  CHECK(scenario.start == JobStart::kRunning);
  FailureConfig failures = scenario.failures[0];
  CHECK(failures.model().name == "exponential");
  CHECK(config::write(config_fields(failures)).at("mtbf_hours") == 2);
  CHECK(names_of(scenario) == std::vector<std::string>{"lazarus", "ds", "pec"});
  CHECK(Json::parse(scenario.policies[1].options) == Json{{"ep", 8}});
}

TEST_CASE("scenario: changes reach into the plan that is named, and into the files that it names") {
  // The plan has dp 10 and 4 sequences a GPU, on 10 nodes; its model has 12 layers.
  const Scenario scenario = read(good_scenario(), {{"/plan/parallel/dp", "8"},
                                                   {"/plan/parallel/global_batch", "32"},
                                                   {"/plan/cluster/nodes", "20"},
                                                   {"/plan/model/layers", "14"}});
  CHECK(scenario.plan.parallel.dp == 8);
  CHECK(scenario.plan.parallel.global_batch == 32);
  CHECK(scenario.plan.cluster.nodes == 20);
  CHECK(scenario.plan.model.layers == 14);
  CHECK(scenario.plan.file == kPlan);
}

TEST_CASE("scenario: a named plan may be changed as a whole, before and after what is in it") {
  const std::string large = std::string(GOODPUT_CONFIGS) + "/plans/lazarus-gpt-l.json";
  const Scenario then_inside = read(good_scenario(), {{"/plan", large}, {"/plan/cluster/nodes", "20"}});
  CHECK(then_inside.plan.model.name == "GPT-L");
  CHECK(then_inside.plan.cluster.nodes == 20);
  const Scenario then_whole = read(good_scenario(), {{"/plan/cluster/nodes", "20"}, {"/plan", large}});
  CHECK(then_whole.plan.model.name == "GPT-L");
  CHECK(then_whole.plan.cluster.nodes == 10);
}

TEST_CASE(
    "scenario: paths in a change start at the config that asks for it, names are those of the file changed") {
  const auto model_of = [](const config::Change& change) {
    return read(good_scenario(), {change}).plan.model.name;
  };
  CHECK(model_of({"/plan/model", "../models/gpt-m.json", {}, kPlan}) == "GPT-M");
  CHECK(model_of({"/plan/model", "gpt-m"}) == "GPT-M");  // in models/ beside the plan
  CHECK(problem(good_scenario(), {{"/plan/model", "../models/gpt-m.json"}}) ==
        kPlan + " /model: no such file: \"../models/gpt-m.json\" (after the changes)");
}

TEST_CASE("scenario: a change that cannot be made in a named file is named as it was given") {
  const auto change = [](const std::string& pointer, const std::string& value) {
    return problem(good_scenario(), {{pointer, value}});
  };
  CHECK(
      change("/plan/parallels/dp", "3") ==
      "set /plan/parallels/dp=3: the scenario has no object \"/plan/parallels\"; did you mean \"parallel\"?");
  CHECK(change("/plan/cluster/gpu/name/x", "3") ==
        "set /plan/cluster/gpu/name/x=3: \"/plan/cluster/gpu/name\" is not an object in the scenario");
  CHECK(change("/start/x", "3").starts_with("set /start/x=3: the scenario has no object \"/start\""));
  CHECK(change("/failures/model/x", "3") ==
        "set /failures/model/x=3: \"/failures/model\" is not an object in the scenario");
  CHECK(change("/plan/parallel/dp", "0") ==
        kPlan + " /parallel/dp: must be an integer from 1 to 10000000, not 0 (after the changes)");
}

TEST_CASE("scenario: a change makes the part that a policy lacks, but no policy") {
  const Scenario scenario = read(good_scenario(), {{"/policies/ds/checkpoint/interval_steps", "7"},
                                                   {"/policies/ds/checkpoint/mode", "async"}});
  CHECK(names_of(scenario) == std::vector<std::string>{"lazarus", "ds"});
  CHECK(Json::parse(scenario.policies[1].options) ==
        Json{{"ep", 4}, {"checkpoint", {{"interval_steps", 7}, {"mode", "async"}}}});
  const auto change = [](const std::string& pointer, const std::string& value) {
    return problem(good_scenario(), {{pointer, value}});
  };
  CHECK(change("/policies/tutel/checkpoint/interval_steps", "7") ==
        "set /policies/tutel/checkpoint/interval_steps=7: the scenario has no object "
        "\"/policies/tutel/checkpoint\"; first set the whole object: /policies/tutel/checkpoint={...}");
}

TEST_CASE("scenario: a change that cannot be made is named as it was given") {
  const auto change = [](const std::string& pointer, const std::string& value) {
    return problem(good_scenario(), {{pointer, value}});
  };
  CHECK(change("trials", "3") == "set trials=3: a JSON pointer must begin with a slash, as in /failures/p");
  CHECK(change("/failure/p", "3") ==
        "set /failure/p=3: the scenario has no object \"/failure\"; did you mean \"failures\"?");
  CHECK(change("/trials/x", "3") ==
        "set /trials/x=3: the scenario has no object \"/trials\"; first set the whole object: /trials={...}");
  CHECK(change("/fail~ures", "3") ==
        "set /fail~ures=3: is not a valid JSON pointer, or points to nothing in the scenario");
  const config::Change other{"/trials/x", "3", "vary"};
  CHECK(problem(good_scenario(), {other}).starts_with("vary /trials/x=3: the scenario has no object"));
  CHECK(change("/trials", "many") == " /trials: must be an integer from 1 to 10000000, not \"many\"");
  CHECK(change("/policies/ds/epp", "3").starts_with(" /policies/ds/epp: unknown key; did you mean \"ep\"?"));
}

TEST_CASE("scenario: what is wrong is named with its place") {
  Json text = good_scenario();
  text.erase("duration_s");
  CHECK(problem(text).ends_with("has no end; give samples, steps, tokens or duration_s"));
  text = good_scenario();
  text.erase("failures");
  CHECK(problem(text).starts_with(" /failures: is missing; give "));
  text = good_scenario();
  text.erase("policies");
  CHECK(problem(text) == " /policies: is missing; it must be an object of options by policy");
  CHECK(problem_with("/policies", Json::array()) ==
        " /policies: must be an object such as {\"lazarus\": {}, \"ds\": {}}, not an array");
  CHECK(problem_with("/policies", Json::object()) ==
        " /policies: must have at least one policy, such as {\"lazarus\": {}}");
  CHECK(problem_with("/policies/ds", 3) ==
        " /policies/ds: must be an object with the policy's options, not 3");
  CHECK(problem_with("/policies/lazerus", Json::object()) ==
        " /policies/lazerus: " + find_policy("lazerus").error().what);
  CHECK(problem_with("/policies/x", {{"policy", "dss"}}) ==
        " /policies/x/policy: " + find_policy("dss").error().what);
  CHECK(problem_with("/policies/x", {{"policy", 3}}) ==
        " /policies/x/policy: must be the name of a policy, not 3");
  CHECK(problem_with("/policies/pec", {{"checkpoint", {{"mode", "asyn"}}}}) ==
        " /policies/pec/checkpoint/mode: must be one of \"sync\", \"async\", not \"asyn\"; did you mean "
        "\"async\"?");
  CHECK(problem_with("/deadline_s", -1).starts_with(" /deadline_s: must be a number from 0 to"));
  CHECK(problem_with("/deadline_s", 3600) == " /deadline_s: needs a goal; give samples, steps or tokens");
  for (const char* const goal : {"samples", "steps", "tokens"}) {
    Json late = good_scenario();
    late[goal] = 1000;
    late["deadline_s"] = 3600;  // when the job is stopped: that is known
    CHECK(problem(late) == "");
    late["deadline_s"] = 3601;
    CHECK(problem(late) ==
          " /deadline_s: is 3601, but the job stops earlier, after duration_s 3600; set duration_s to 0 or "
          "to at least the deadline");
    late["duration_s"] = 0;
    CHECK(problem(late) == "");
  }
  CHECK(problem_with("/tokens", 2e18) ==
        " /tokens: must be an integer from 0 to 1000000000000000000, not 2e+18");
  CHECK(problem_with("/tokens", 1e17 + 16) ==  // which integer was meant?
        " /tokens: must be an integer from 0 to 1000000000000000000, not 1.0000000000000002e+17");
  CHECK(problem_with("/duration_s", -1).starts_with(" /duration_s: must be a number from 0 to"));
  CHECK(problem_with("/trials", 0) == " /trials: must be an integer from 1 to 10000000, not 0");
  CHECK(problem_with("/routing", {{"skew", 11}}) == " /routing/skew: must be a number from 0 to 10, not 11");
  CHECK(problem_with("/start", "warm") == " /start: must be one of \"running\", \"cold\", not \"warm\"");
  CHECK(problem_with("/usd_per_node_hour", -1) ==
        " /usd_per_node_hour: must be a number from 0 to 1000000, not -1");
  CHECK(problem_with("/trial", 3).starts_with(" /trial: unknown key; did you mean \"trials\"?"));
  CHECK(problem_with("/plan", "no-such-plan").find("no-such-plan") != std::string::npos);
}

}  // namespace goodput
