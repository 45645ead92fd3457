// What every recovery policy promises, whatever happens to the nodes. (The engine itself checks at every run
// that time adds up and that nobody trains on nodes that are gone.)
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/failure/failure_models.h"
#include "sim/base/random.h"
#include "sim/base/registry.h"
#include "tests/support/failure_case.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

using nlohmann::json;
using std::chrono::hours;

// Of 12 nodes of which the job uses 10: single ones, racks and the whole fleet, slow nodes, quick returns.
std::vector<FailureConfig> random_failures(std::uint64_t seed) {
  RandomStream random(seed, "recovery policies");
  json failures = json::array();
  const double mtbf_hours = random.uniform(0.3, 6);
  const double repair_s = random.below(3) == 0 ? 0 : random.uniform(0, 2000);
  const json lives = {{"nodes", 12}, {"mtbf_hours", mtbf_hours}, {"repair_s", repair_s}};
  switch (random.below(4)) {
    case 0:
      failures.push_back(lives);
      failures.back().update({{"model", "weibull"}, {"shape", random.uniform(0.6, 1.6)}});
      break;
    case 1: {
      const double loss = random.uniform(0, 0.6);
      failures.push_back({{"model", "hourly"},
                          {"nodes", 12},
                          {"loss_probability", loss},
                          {"return_probability", random.uniform(0.1, 1)}});
      break;
    }
    default:
      failures.push_back(lives);
      failures.back()["model"] = "exponential";
  }
  if (random.below(2) == 0) {
    json bursts = {{"model", "bursts"}, {"kind", "fleet"}};
    if (random.below(2) != 0) bursts.update({{"kind", "rack"}, {"group_size", 4}});
    bursts["per_hour"] = random.uniform(0, 0.6);
    bursts["outage_s"] = random.below(3) == 0 ? 1e-9 : random.uniform(1, 5000);
    failures.push_back(bursts);
  }
  if (random.below(2) == 0) {
    json slow = {{"model", "fail_slow"}, {"slowdowns", {1.05, 1.5, 3}}};
    slow["per_node_day"] = random.uniform(0, 40);
    slow["duration_s"] = random.uniform(1, 4000);
    failures.push_back(slow);
  }
  return failures_from(failures.dump());
}

std::unique_ptr<FailureModel> model_of(const std::vector<FailureConfig>& configs, std::uint64_t seed) {
  auto model = make_failure_model(configs, {}, seed, 0);
  REQUIRE_MESSAGE(model, (model ? "" : model.error().message()));
  return *std::move(model);
}

// Everything that is counted.
std::string summary(const JobResult& result) {
  std::string text = fmt::format("{} {} {} {} {} {} {} {}", result.finished, result.stopped,
                                 result.end.time_since_epoch().count(), result.steps, result.samples,
                                 result.steps_lost, result.nodes_lost, result.waited.count());
  for (const SimDuration time : result.ledger.time) text += fmt::format(" {}", time.count());
  for (const NodeTime time : result.ledger.node_time) text += fmt::format(" {}", node_seconds(time));
  for (const std::int64_t count : result.courses) text += fmt::format(" {}", count);
  for (const PolicyMetric& one : result.metrics) text += fmt::format(" {} {}", one.name, one.value);
  return text;
}

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
    std::int64_t trained = 0;
    for (std::uint64_t seed = first_seed; seed < last_seed; ++seed) {
      CAPTURE(seed);
      CAPTURE(info.name);
      const std::vector<FailureConfig> configs = random_failures(seed);
      const std::string options = options_for(info.name, seed);
      const JobStart start = seed % 2 == 0 ? JobStart::kCold : JobStart::kRunning;
      PolicyCase job(std::string(info.name), options, gpt_s(10, start));
      const JobResult result = job.run(until(hours{12}), *model_of(configs, seed));
      CHECK(result.stopped == "");
      CHECK(result.end == at(hours{12}));
      CHECK(result.samples >= result.steps * 4);  // a node trains 4 sequences a step
      CHECK(result.samples <= result.steps * 40);
      trained += result.steps;
      // The same again; after another run; and by a set-up of its own.
      CHECK(summary(job.run(until(hours{12}), *model_of(configs, seed))) == summary(result));
      PolicyCase other(std::string(info.name), options, gpt_s(10, start));
      (void)other.run(until(hours{6}), *model_of(configs, seed + 1));
      CHECK(summary(other.run(until(hours{12}), *model_of(configs, seed))) == summary(result));
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
      const JobResult result = job.run(until(hours{24}), *model_of(failures, seed));
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
        fmt::format("no policy \"lazerus\"; did you mean \"lazarus\"?; known: {}",
                    fmt::join(names_of(recovery_policies()), ", ")));
  for (const PolicyInfo& info : recovery_policies()) {
    CHECK(!info.summary.empty());
    CHECK(info.make()->fields({}).size() > 3);
  }
}

}  // namespace goodput::testing
