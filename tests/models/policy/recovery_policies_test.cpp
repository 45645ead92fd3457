// What every recovery policy promises, whatever happens to the nodes. (The engine itself checks at every run
// that time adds up and that nobody trains on nodes that are gone.)
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "models/failure/failure_models.h"
#include "sim/base/random.h"
#include "sim/base/registry.h"
#include "tests/support/failure_case.h"
#include "tests/support/policy_case.h"
#include "tests/support/policy_contract.h"

namespace goodput::testing {
namespace {

using std::chrono::hours;

std::string options_for(std::string_view policy, std::uint64_t seed) {
  if (seed % 4 == 0) return "{}";
  RandomStream random(seed, "options");
  const std::vector<std::string> actions = {"keep", "evict", "swap"};
  const bool is_fixed = policy == "gemini" || policy == "hot_spare";
  std::string options = fmt::format(R"({{"slow_nodes": {{"action": "{}"}})", actions[random.below(3)]);
  const bool gathers = !is_fixed && policy != "elastic_dp";
  if (gathers) options += fmt::format(R"(, "gather_s": {})", random.below(2) * 120);
  if (gathers && policy != "lazarus" && random.below(2) == 0) options += R"(, "absorb": "gathered")";
  if (is_fixed && random.below(2) == 0) options += R"(, "nodes": 6)";
  if (policy == "elastic_dp" && random.below(2) == 0)
    options += R"(, "nodes_per_replica": 4, "catch_up": "stop")";
  if (policy == "oobleck" && random.below(2) == 0) options += R"(, "nodes_per_pipeline": 3)";
  if (policy == "lazarus" && random.below(2) == 0) options += R"(, "slots_per_gpu": 1)";
  if (policy == "pec") options += fmt::format(R"(, "k_snapshot": {}, "k_persist": 1)", 1 + random.below(8));
  return options + "}";
}

void check_runs(std::uint64_t first_seed, std::uint64_t last_seed) {
  for (const PolicyInfo& info : recovery_policies()) {
    CAPTURE(info.name);
    std::int64_t trained = 0;
    for (std::uint64_t seed = first_seed; seed < last_seed; ++seed) {
      const std::string options = options_for(info.name, seed);
      trained += check_contract(
          [&](JobStart start) { return PolicyCase(std::string(info.name), options, gpt_s(10, start)); },
          seed);
    }
    CHECK(trained > 0);
  }
}

}  // namespace

TEST_CASE("recovery policies: time adds up and runs repeat, whatever happens to the nodes" *
          doctest::test_suite("slow")) {
  check_runs(0, 8);
}

TEST_CASE("recovery policies: the same of many more" * doctest::test_suite("release-only")) {
  check_runs(100, 144);
}

TEST_CASE("recovery policies: with moderate failures every policy gets on") {
  for (const PolicyInfo& info : recovery_policies()) {
    CAPTURE(info.name);
    PolicyCase job(std::string(info.name), "{}");
    const auto failures =
        failures_from(R"({"model": "exponential", "nodes": 12, "mtbf_hours": 24, "repair_s": 600})");
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const JobResult result = job.run(until(hours{24}), *failure_model(failures, seed));
      CHECK(goodput_of(result) > 0.5);
      CHECK(running_goodput(result) >= goodput_of(result));
      CHECK(running_goodput(result) <= 1);
    }
  }
}

TEST_CASE(
    "recovery policies: a fleet that drops from 16 to nothing again and again, and four days of outage") {
  NodeEvents events = held(16);
  for (const SimDuration when : {SimDuration{hours{2}}, SimDuration{hours{5}}, SimDuration{hours{9}}}) {
    for (NodeId node = 0; node < 16; ++node) events.push_back(lost(when, node));
    const SimDuration outage = when == hours{5} ? SimDuration{hours{96}} : SimDuration{hours{1}};
    for (NodeId node = 0; node < 16; ++node) events.push_back(joined(when + outage, node));
    if (when == hours{5}) break;
  }
  for (const PolicyInfo& info : recovery_policies()) {
    CAPTURE(info.name);
    PolicyCase job(std::string(info.name), R"({"checkpoint": {"interval_steps": 100}})", gpt_s(16));
    const JobResult result = job.run(until(hours{110}), events);
    CHECK(result.stopped == "");
    CHECK(result.count(Cause::kRestart) == 2);
    CHECK(result.waited == hours{97});
    CHECK(result.steps > 0);
    CHECK(running_goodput(result) > 0.5);
  }
}

TEST_CASE("recovery policies: names are found, and wrong ones answered") {
  CHECK(find_policy("pec")->name == "pec");
  const auto unknown = find_policy("lazerus");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message() ==
        fmt::format("unknown policy \"lazerus\"; did you mean \"lazarus\"?; known: {}",
                    fmt::join(names_of(recovery_policies()), ", ")));
  for (const PolicyInfo& info : recovery_policies()) {
    CHECK(!info.summary.empty());
    CHECK(info.make()->fields({}).size() > 3);
  }
}

}  // namespace goodput::testing
