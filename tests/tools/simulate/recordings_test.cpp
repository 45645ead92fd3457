// Trials over recordings: one run where all would be the same, else each from another moment.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "models/scenario/observations.h"
#include "models/scenario/trial_runs.h"
#include "sim/base/json.h"
#include "tests/tools/simulate/simulate_run.h"
#include "tests/tools/simulate/small_scenario.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/simulate/scenario_inputs.h"

namespace goodput::testing {
namespace {

// Ten hours of ten nodes, one of which is away for five minutes of every half hour but the first; what a node
// costs goes up by a dollar every hour.
std::string ten_hours() {
  Json data = Json::array();
  Json prices = Json::array();
  for (int i = 0; i < 120; ++i) {
    data.push_back(i % 6 == 0 && i > 0 ? 9 : 10);
    prices.push_back(1 + i / 12);
  }
  const Json metadata = {{"gap_seconds", 300}, {"polarity", "available"}, {"meaning", "held"}};
  return Json{{"metadata", metadata}, {"data", data}, {"prices", prices}}.dump();
}

// `trace`: further keys of the failure model.
Json scenario_over(const TemporaryFile& file, int duration_s, const Json& trace = Json::object()) {
  Json text = small_scenario();
  text["failures"] = {{"model", "trace"}, {"file", file.path()}};
  text["failures"].update(trace);
  text["duration_s"] = duration_s;
  text["trials"] = 20;
  text["policies"] = {{"ds", Json::object()}};
  return text;
}

struct Read {
  Scenario scenario;
  ScenarioInputs inputs;
};
Read read(const Json& text) {
  const TemporaryFile file("scenario.json", text.dump());
  auto scenario = read_scenario(file.path(), {});
  REQUIRE_MESSAGE(scenario, (scenario ? "" : scenario.error().message()));
  auto inputs = read_scenario_inputs(*scenario, 0);
  REQUIRE_MESSAGE(inputs, (inputs ? "" : inputs.error().message()));
  return {*std::move(scenario), *std::move(inputs)};
}

// "1: one run ...": how many of 20 trials, and the note, in which the recording is "R".
std::string observed(const TemporaryFile& file, const Json& text, std::int64_t trials = 20) {
  const Read read = testing::read(text);
  Observations observations = observations_of(read.scenario, read.inputs.view().failures, trials);
  std::string& note = observations.note;
  if (const auto at = note.find(file.path()); at != std::string::npos)
    note.replace(at, file.path().size(), "R");
  return std::to_string(observations.trials) + ": " + note;
}

}  // namespace

TEST_CASE("observations: the number of trials and the note follow from what differs between trials") {
  const TemporaryFile file("spot.json", ten_hours());
  CHECK(
      observed(file, scenario_over(file, 9000)) ==  // 10 h = 4 x 9000 s
      "20: each trial starts at a different moment of R (10.0 h long, 4 times as long as the job may take)");
  CHECK(observed(file, scenario_over(file, 10'800)) ==
        "1: one run, because every trial would replay R from the same moment; random starts require a "
        "recording of at least 4 x 3.0 h, but this recording is 10.0 h long");
  CHECK(observed(file, scenario_over(file, 3600, {{"from_s", 60}})) ==
        "1: one run, because every trial would replay R from the same moment; \"starts\": \"random\" lets "
        "each trial start at a different moment");
  CHECK(observed(file, scenario_over(file, 36'000, {{"starts", "fixed"}})) ==
        "1: one run, because every trial would replay R from the same moment");
  CHECK(observed(file, scenario_over(file, 9000), 1) == "1: ");
  Json with_others = scenario_over(file, 10'800);
  with_others["failures"] = {with_others["failures"],
                             {{"model", "bursts"}, {"group_size", 2}, {"per_hour", 1}, {"outage_s", 60}}};
  CHECK(observed(file, with_others) ==
        "20: every trial replays R from the same moment, so confidence intervals do not cover how much "
        "another recording would differ; random starts require a recording of at least 4 x 3.0 h, but this "
        "recording is 10.0 h long");
  CHECK(observed(file, small_scenario()) == "20: ");
}

TEST_CASE("observations: a job may take twice its ideal time, or its duration where that is less") {
  const TemporaryFile file("spot.json", ten_hours());
  const Read stopped = read(scenario_over(file, 7200));
  CHECK(stopped.inputs.window == std::chrono::hours{2});
  Json text = scenario_over(file, 0);
  text["samples"] = 5000;
  const Read to_goal = read(text);
  const JobModel& job = *to_goal.inputs.job;
  const double ideal = 5000 * job.ideal_node_seconds_per_sample() / job.plan_nodes();
  CHECK(to_seconds(to_goal.inputs.window) == doctest::Approx(2 * ideal));
  text["duration_s"] = ideal;
  CHECK(to_seconds(read(text).inputs.window) == doctest::Approx(ideal));
  // As many samples in steps of the plan's batch.
  text = scenario_over(file, 0);
  text["steps"] = 10;
  const double of_steps = 10 * static_cast<double>(job.plan().parallel.global_batch) *
                          job.ideal_node_seconds_per_sample() / job.plan_nodes();
  CHECK(to_seconds(read(text).inputs.window) == doctest::Approx(2 * of_steps));
}

TEST_CASE("simulate: a recording that every trial would replay alike is run once, without intervals") {
  const TemporaryFile file("spot.json", ten_hours());
  Json text = scenario_over(file, 0);
  text["steps"] = 100'000;  // far more than ten hours have room for
  text["duration_s"] = 20'000;
  text["deadline_s"] = 20'000;
  const Json result = simulate_result(text);
  const Json& ds = result.at("policies").at("ds");
  CHECK(ds.at("trials") == 1);
  CHECK(ds.at("ci").empty());
  CHECK(ds.at("quantiles").empty());
  CHECK(result.at("recordings").at("one_run") == true);
  const SimulateRun run = simulate_run(text);
  CHECK(run.out.find("\nnote: one run, because every trial would replay ") != std::string::npos);
  CHECK(run.out.find("95 %") == std::string::npos);
  CHECK(run.out.find("trials\n") == std::string::npos);
  // The trial is that of a scenario that asks for one.
  text["trials"] = 1;
  const Json one = simulate_result(text);
  CHECK(one.at("recordings").is_null());
  CHECK(one.at("policies").at("ds").at("samples") == ds.at("samples"));
}

TEST_CASE("simulate: trials that start at random moments differ, whatever the threads and the other trials") {
  const TemporaryFile file("spot.json", ten_hours());
  const Json text = scenario_over(file, 3600);
  const auto trials = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"--json", "-", "--json-trials", "--quiet"});
    const SimulateRun run = simulate_run(text, options);
    REQUIRE_MESSAGE(run.code == ExitCode::kOk, run.err);
    return Json::parse(run.out).at("trials_by_policy").at("ds").at("cost").get<std::vector<double>>();
  };
  const std::vector<double> all = trials({"--jobs", "1"});
  REQUIRE(all.size() == 20);
  CHECK(std::set<double>(all.begin(), all.end()).size() > 10);
  CHECK(trials({"--jobs", "3"}) == all);
  CHECK(trials({"--trials", "4", "--first-trial", "3"}) ==
        std::vector<double>(all.begin() + 3, all.begin() + 7));
}

TEST_CASE("simulate: a trial that starts at s pays the prices from s on") {
  const TemporaryFile file("spot.json", ten_hours());
  const auto cost_of = [](const Read& read, std::uint64_t trial) {
    const SimulationInputs view = read.inputs.view();
    const auto prepared = prepare_policy(read.scenario, read.scenario.policies[0], *view.job);
    REQUIRE(prepared);
    const auto result = run_policy(read.scenario, view, **prepared, 0, trial, nullptr);
    REQUIRE(result);
    return result->cost_usd;
  };
  const Read random = read(scenario_over(file, 3600));
  std::set<double> costs;
  for (std::uint64_t trial = 0; trial < 6; ++trial) {
    const RecordingReplays replays = replays_of(random.scenario, random.inputs.view().failures, 0, trial);
    const double start = to_seconds(replays.at(0)->start);
    const Read fixed = read(scenario_over(file, 3600, {{"from_s", start}, {"starts", "fixed"}}));
    costs.insert(cost_of(random, trial));
    CHECK(cost_of(random, trial) == cost_of(fixed, trial));
  }
  CHECK(costs.size() == 6);
}

TEST_CASE("simulate: random starts that the recording has no room for are refused") {
  const TemporaryFile file("spot.json", ten_hours());
  const SimulateRun run = simulate_run(scenario_over(file, 40'000, {{"starts", "random"}}));
  CHECK(run.code == ExitCode::kBadInput);
  CHECK(run.err.find("s.json /failures/starts: is \"random\", but ") != std::string::npos);
}

TEST_CASE(
    "simulate: the reserved nodes of a recording are as many as it holds at once, and no more than its cap") {
  const TemporaryFile file("spot.csv",
                           "t_s,event,node\n0,add,a\n0,add,b\n0,add,c\n60,remove,a\n90,add,d\n600,add,e\n");
  const auto reserved = [&](const Json& trace) {
    const Read of = read(scenario_over(file, 300, trace));
    return of.inputs.pools.at(0).reserved();
  };
  CHECK(reserved(Json::object()) == 4);  // b, c, d, e
  CHECK(reserved({{"to_s", 300}}) == 3);
  CHECK(reserved({{"cap", {{"rule", "saturate"}, {"nodes", 2}}}}) == 2);
}

}  // namespace goodput::testing
