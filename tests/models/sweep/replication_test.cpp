// How often points are run.
#include "models/sweep/replication.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/failure_case.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

// A loss every 2.4 hours on ten nodes, for three hours: samples scatter by a percent or so.
Scenario replicated_scenario() {
  Scenario scenario;
  scenario.file = "s.json";
  scenario.plan = gpt_s_plan(10);
  scenario.duration = std::chrono::hours{3};
  scenario.failures =
      failures_from(R"({"model": "exponential", "nodes": 10, "mtbf_hours": 24, "repair_s": 900})");
  scenario.policies = {{"a", "ds", "{}"},
                       {"b", "ds", R"({"checkpoint": {"interval_steps": 1000}})"},
                       {"c", "lazarus", "{}"},
                       {"no", "ds", R"({"ep": 64})"}};
  return scenario;
}

struct Replicated {
  std::vector<std::string> not_reached;
  std::vector<std::vector<double>> samples;  // by policy and trial
};

Replicated replicated(const Replication& replication) {
  const Scenario scenario = replicated_scenario();
  const JobPointer job = gpt_s(10, JobStart::kCold);
  auto runs = TrialRuns::prepare(scenario, {job.get(), {}, {}}, 5);
  REQUIRE_MESSAGE(runs, (runs ? "" : runs.error().message()));
  Replicated result;
  result.not_reached = replicate(replication, *runs).value();
  for (std::size_t i = 0; i < runs->policies(); ++i) {
    result.samples.emplace_back();
    for (const TrialSummary& trial : runs->trials(i)) result.samples.back().push_back(trial.samples);
  }
  return result;
}

std::vector<std::size_t> sizes(const Replicated& result) {
  std::vector<std::size_t> all;
  for (const auto& trials : result.samples) all.push_back(trials.size());
  return all;
}

StoppingRule rule_of(const std::string& text) {
  return StoppingRule::parse(text).value();
}

}  // namespace

TEST_CASE("replication: without a rule every policy that runs has as many trials") {
  const Replicated result = replicated({3, {}, 1});
  CHECK(sizes(result) == std::vector<std::size_t>{3, 3, 3, 0});
  CHECK(result.not_reached == std::vector<std::string>(4));
}

TEST_CASE("replication: with a rule each policy has as many as it takes, and the first ones are the same") {
  const Replicated result = replicated({1, rule_of("samples±1%"), 10'000});
  CHECK(result.not_reached == std::vector<std::string>(4));
  const Replicated plain = replicated({400, {}, 1});
  for (std::size_t policy = 0; policy < 3; ++policy) {
    const std::vector<double>& trials = result.samples[policy];
    REQUIRE(trials.size() >= 20);
    REQUIRE(trials.size() <= 400);
    CHECK(std::equal(trials.begin(), trials.end(), plain.samples[policy].begin()));
    // The interval is reached with these and was not with those of the round before, which was half as large
    // at the least.
    const auto estimate = [&](std::size_t count) { return estimate_mean(std::span(trials).first(count)); };
    CHECK(rule_of("samples±1%").is_reached(estimate(trials.size())));
  }
  CHECK(*std::max_element(result.samples.begin(), result.samples.end(), [](const auto& a, const auto& b) {
    return a.size() < b.size();
  }) != result.samples[2]);
  CHECK(result.samples[3].empty());
}

TEST_CASE("replication: what is not reached with the most trials is said") {
  const Replicated result = replicated({1, rule_of("samples±0.0001%"), 50});
  CHECK(sizes(result) == std::vector<std::size_t>{50, 50, 50, 0});
  CHECK(result.not_reached[0].starts_with("after 50 trials, samples is known only to ±"));
  CHECK(result.not_reached[0].ends_with(" %, but must be known to ±0.0001 %"));
  CHECK(result.not_reached[3].empty());
  // Nothing has a price: more trials change nothing.
  const Replicated cost = replicated({1, rule_of("cost±1%"), 1000});
  CHECK(sizes(cost) == std::vector<std::size_t>{20, 20, 20, 0});
  CHECK(cost.not_reached[0] ==
        "after 20 trials, cost has no value in some trials, so more trials cannot make it precise");
}

TEST_CASE("replication: a ratio is of two policies, and the others have the first trials alone") {
  const Replicated result = replicated({30, rule_of("samples:a/b±0.2%"), 10'000});
  CHECK(result.samples[0].size() == result.samples[1].size());
  CHECK(result.samples[0].size() > 30);
  CHECK(result.samples[2].size() == 30);
  CHECK(result.not_reached == std::vector<std::string>(4));
  // One that cannot run leaves nothing to compare.
  CHECK(sizes(replicated({1, rule_of("samples:a/no±0.2%"), 100})) == std::vector<std::size_t>{20, 20, 20, 0});
}

TEST_CASE("replication: a program that fails in a later trial is out, and the other policies go on") {
  Scenario scenario = replicated_scenario();
  // Its 26th trial is the end of what it is told.
  const PolicyCommand command{"mine", "sed -u '/\"trial\":25}/Q' | python3 -B '" GOODPUT_CONFIGS
                                      "/../tools/policy_process/restart_policy.py'"};
  scenario.policies = {scenario.policies[1], {"mine", kCommandPolicy, "{}", {}, command}};
  const JobPointer job = gpt_s(10, JobStart::kCold);
  for (const char* rule : {"samples±0.0001%", "samples:b/mine±0.0001%"}) {
    auto runs = TrialRuns::prepare(scenario, {job.get(), {}, {}}, 5);
    REQUIRE(runs);
    const auto not_reached = replicate({1, rule_of(rule), 50}, *runs);
    REQUIRE(not_reached);
    CHECK((*not_reached)[1] == "");
    CHECK(runs->refusal(1).ends_with(" during start_run of trial 25: exited with code 0"));
    CHECK(runs->trials(0).size() > 20);
    CHECK(runs->trials(1).empty());
  }
}

TEST_CASE("replication: the policies of a ratio are found, whatever is in their names") {
  const std::vector<ScenarioPolicy> known = {
      {"a", "ds", "{}"}, {"b/c", "ds", "{}"}, {"a/b", "ds", "{}"}, {"c", "ds", "{}"}};
  CHECK(find_rule_policies("a/b/c", known).value() == std::pair<std::size_t, std::size_t>{0, 1});
  CHECK(find_rule_policies("c/a", known).value() == std::pair<std::size_t, std::size_t>{3, 0});
  CHECK(find_rule_policies("a/x", known).error().what ==
        "expected two of the policies that run, separated by a slash, found a/x; the policies are a, b/c, "
        "a/b, c");
  CHECK_FALSE(find_rule_policies("a/a", known));
}

}  // namespace goodput::testing
