// Intervals between checkpoints that follow from the failures of a scenario.
#include "tools/simulate/checkpoint_interval.h"

#include <doctest/doctest.h>

#include <string>

#include "sim/base/json.h"
#include "tests/tools/simulate/simulate_run.h"

namespace goodput::testing {
namespace {

Json policies_of(const Json& scenario) {
  return simulate_result(scenario).at("policies");
}

Json failing(const Json& failures, const Json& checkpoint, const std::string& policy = "hot_spare") {
  Json options = {{"checkpoint", checkpoint}};
  if (policy == "hot_spare") options["nodes"] = 8;
  return {{"plan", "lazarus-gpt-s"}, {"failures", failures}, {"batch", "per_replica"},
          {"duration_s", 200'000},   {"trials", 3},          {"policies", {{policy, options}}}};
}

Json exponential() {
  return {{"model", "exponential"}, {"nodes", 10}, {"mtbf_hours", 20}, {"repair_s", 600}};
}

}  // namespace

TEST_CASE("checkpoint interval: what follows from the failures is what their MTBF over the nodes gives") {
  for (const char* const rule : {"young", "daly", "optimal"}) {
    // On 8 nodes, one of which fails every 20 hours.
    Json derived = policies_of(failing(exponential(), {{"interval", rule}}));
    Json given = policies_of(failing(exponential(), {{"interval", rule}, {"mtbf_hours", 20. / 8}}));
    Json& interval = derived["hot_spare"]["checkpoint"];
    CHECK(interval["interval"] == rule);
    CHECK(interval["nodes"] == 8);
    CHECK(interval["interval_steps"].get<int>() > 1);
    CHECK(interval["mtbf_hours"].get<double>() == doctest::Approx(2.5).epsilon(1e-15));
    interval["mtbf_hours"] = 2.5;
    CHECK(derived == given);
  }
}

TEST_CASE("checkpoint interval: a fixed one goes by no MTBF, and none is told where there are none") {
  const Json fixed = policies_of(failing(exponential(), {{"interval_steps", 33}}));
  CHECK(fixed["hot_spare"]["checkpoint"] ==
        Json{{"interval", "fixed"},
             {"mtbf_hours", nullptr},
             {"nodes", 8},
             {"interval_steps", 33},
             {"bytes", std::int64_t{521'197'824} * 14},  // parameters of GPT-S, in 16 bits with Adam's state
             {"bytes_per_parameter", 14}});
  Json too_few = failing(exponential(), {{"interval_steps", 33}});
  too_few["failures"]["nodes"] = 7;  // never trains
  CHECK(policies_of(too_few)["hot_spare"]["checkpoint"].is_null());
}

TEST_CASE("checkpoint interval: text says how large a checkpoint is, and of what") {
  const auto says = [](const Json& checkpoint, const std::string& line) {
    return simulate_run(failing(exponential(), checkpoint))
               .out.find("\nhot_spare: checkpoint size " + line + "\n") != std::string::npos;
  };
  CHECK(says(
      {{"interval_steps", 33}},
      "7.297 GB, 14 bytes per parameter (2 for the fp16 weight + 12 for the master weight and moments)"));
  CHECK(says({{"interval_steps", 33}, {"bytes_per_parameter", 10}}, "5.212 GB, 10 bytes per parameter"));
  CHECK_FALSE(says({{"interval_steps", 0}}, "7.297 GB, 14 bytes per parameter"));
}

TEST_CASE("checkpoint interval: elastic policies go by the nodes they train on") {
  for (const char* const policy : {"lazarus", "ds", "pec", "checkpoint"}) {
    const Json of =
        policies_of(failing(exponential(), {{"interval", "young"}}, policy))[policy]["checkpoint"];
    CHECK(of["mtbf_hours"].get<double>() * of["nodes"].get<double>() == doctest::Approx(20).epsilon(1e-14));
  }
}

TEST_CASE("checkpoint interval: text says which interval came out, where nobody gave the MTBF") {
  const std::string derived = simulate_run(failing(exponential(), {{"interval", "optimal"}})).out;
  CHECK(derived.find("\nhot_spare: a checkpoint every ") != std::string::npos);
  CHECK(derived.find(" steps (optimal rule, for an MTBF of 150.0 min on 8 nodes)\n") != std::string::npos);
  const Json checkpoint = {{"interval", "optimal"}, {"mtbf_hours", 2.5}};
  CHECK(simulate_run(failing(exponential(), checkpoint)).out.find("for an MTBF of") == std::string::npos);
}

TEST_CASE("checkpoint interval: failures that never hit the job leave the rule without an MTBF") {
  const Json safe = {{"model", "interval"}, {"nodes", 10}, {"every_s", 60}, {"floor_nodes", 10}};
  for (const char* const policy : {"hot_spare", "lazarus"}) {
    const SimulateRun said = simulate_run(failing(safe, {{"interval", "daly"}}, policy));
    CHECK(said.code == ExitCode::kBadInput);
    CHECK(said.err == "error: s.json /policies/" + std::string(policy) +
                          "/checkpoint/mtbf_hours: is not given, and no failure of the scenario can hit the "
                          "job; give mtbf_hours, or set interval to \"fixed\"\n");
  }
}

}  // namespace goodput::testing
