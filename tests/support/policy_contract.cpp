#include "tests/support/policy_contract.h"

#include <fmt/format.h>

#include <chrono>

#include "sim/base/json.h"
#include "sim/base/random.h"
#include "tests/support/failure_case.h"

namespace goodput::testing {

std::vector<FailureConfig> random_failures(std::uint64_t seed) {
  RandomStream random(seed, "recovery policies");
  Json failures = Json::array();
  const double mtbf_hours = random.uniform(0.3, 6);
  const double repair_s = random.below(3) == 0 ? 0 : random.uniform(0, 2000);
  const Json lives = {{"nodes", 12}, {"mtbf_hours", mtbf_hours}, {"repair_s", repair_s}};
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
    Json bursts = {{"model", "bursts"}, {"kind", "fleet"}};
    if (random.below(2) != 0) bursts.update({{"kind", "rack"}, {"group_size", 4}});
    bursts["per_hour"] = random.uniform(0, 0.6);
    bursts["outage_s"] = random.below(3) == 0 ? 1e-9 : random.uniform(1, 5000);
    failures.push_back(bursts);
  }
  if (random.below(2) == 0) {
    Json slow = {{"model", "fail_slow"}, {"slowdowns", {1.05, 1.5, 3}}};
    slow["per_node_day"] = random.uniform(0, 40);
    slow["duration_s"] = random.uniform(1, 4000);
    failures.push_back(slow);
  }
  return failures_from(failures.dump());
}

std::unique_ptr<FailureModel> failure_model(const std::vector<FailureConfig>& configs, std::uint64_t seed) {
  auto model = make_failure_model(configs, {}, seed, 0);
  REQUIRE_MESSAGE(model, (model ? "" : model.error().message()));
  return *std::move(model);
}

std::string counts_of(const JobResult& result) {
  std::string text = fmt::format("{} {} {} {} {} {} {} {}", result.finished, result.stopped,
                                 result.end.time_since_epoch().count(), result.steps, result.samples,
                                 result.steps_lost, result.nodes_lost, result.waited.count());
  for (const SimDuration time : result.ledger.time) text += fmt::format(" {}", time.count());
  for (const NodeTime time : result.ledger.node_time) text += fmt::format(" {}", node_seconds(time));
  for (const std::int64_t count : result.courses) text += fmt::format(" {}", count);
  return text;
}

std::string summary_of(const JobResult& result) {
  std::string text = counts_of(result);
  for (const PolicyMetric& one : result.metrics) text += fmt::format(" {} {}", one.name, one.value);
  return text;
}

std::int64_t check_contract(const std::function<PolicyCase(JobStart)>& make, std::uint64_t seed) {
  using std::chrono::hours;
  CAPTURE(seed);
  const std::vector<FailureConfig> configs = random_failures(seed);
  const JobStart start = seed % 2 == 0 ? JobStart::kCold : JobStart::kRunning;
  PolicyCase job = make(start);
  const JobResult result = job.run(until(hours{12}), *failure_model(configs, seed));
  CHECK(result.policy_failure == "");
  CHECK(result.stopped == "");
  CHECK(result.end == at(hours{12}));
  CHECK(result.samples >= result.steps * 4);  // a node trains 4 sequences a step
  CHECK(result.samples <= result.steps * 40);
  CHECK(summary_of(job.run(until(hours{12}), *failure_model(configs, seed))) == summary_of(result));
  PolicyCase other = make(start);
  (void)other.run(until(hours{6}), *failure_model(configs, seed + 1));
  CHECK(summary_of(other.run(until(hours{12}), *failure_model(configs, seed))) == summary_of(result));
  return result.steps;
}

}  // namespace goodput::testing
