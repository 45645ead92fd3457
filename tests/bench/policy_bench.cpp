// What every policy takes on large clusters, with 6.5 failures per 1000 node-days and a mean repair of a day:
// seconds of CPU to prepare it and run a first trial of a day, and for each of three more. With arguments:
// the names of the policies to run, else all.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/failure/failure_models.h"
#include "models/job/job_model.h"
#include "models/policy/policy.h"
#include "models/scenario/scenario.h"
#include "sim/job/job_engine.h"
#include "tests/support/failure_case.h"

namespace goodput::testing {
namespace {

constexpr std::uint64_t kMore = 3;  // trials after the first
double cpu_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// A shipped plan with as many replicas as the nodes hold, each with its share of `samples` a replica.
std::unique_ptr<const JobModel> job_on(const std::string& name, std::int32_t nodes, std::int64_t samples) {
  auto plan = read_training_plan(GOODPUT_CONFIGS "/plans/" + name + ".json");
  GOODPUT_CHECK(plan.has_value(), "the shipped plan can be read");
  ParallelPlan& parallel = plan->parallel;
  plan->cluster.nodes = nodes;
  parallel.dp = nodes * plan->cluster.gpus_per_node / (parallel.pp * parallel.tp * parallel.cp);
  parallel.global_batch = samples * parallel.dp;
  std::int32_t layers = 0;
  for (std::int32_t layer = 0; layer < plan->model.layers; ++layer)
    layers += plan->model.is_moe_layer(layer) ? 1 : 0;
  JobRouting routing = JobRouting::balanced(layers, plan->model.moe ? plan->model.moe->experts : 1);
  auto job = JobModel::make({.plan = *std::move(plan), .batch = BatchRule::kPerReplica}, std::move(routing));
  GOODPUT_CHECK(job.has_value(), job.error().message());
  return *std::move(job);
}

void run_day(const PreparedPolicy& prepared, std::int32_t nodes, std::uint64_t trial) {
  const auto configs = failures_from(fmt::format(
      R"({{"model": "exponential", "nodes": {}, "failures_per_1000_node_days": 6.5, "repair_s": 86400,
          "repair": "exponential"}})",
      nodes));
  const auto failures = *make_failure_model(configs, {}, 1, trial);
  JobGoal goal;
  goal.until = SimTime{std::chrono::days{1}};
  static_cast<void>(run_job(goal, {}, *failures, *prepared.start_run({})));
}

// One that trains on a fixed number of nodes has one node in 50 as a spare.
std::unique_ptr<PolicySetup> set_up(const std::string& policy, std::int32_t nodes) {
  const std::string options =
      R"("checkpoint": {"interval_steps": 20, "write_gb_per_s": 10000, "read_gb_per_s": 10000})";
  Scenario scenario;
  scenario.file = "bench";
  const std::int32_t fixed = nodes * 49 / 50 / 16 * 16;  // whole replicas
  auto setup = make_policy(scenario, {policy, policy, fmt::format(R"({{"nodes": {}, {}}})", fixed, options)});
  if (!setup) setup = make_policy(scenario, {policy, policy, "{" + options + "}"});
  GOODPUT_CHECK(setup.has_value(), setup.error().message());
  return *std::move(setup);
}

void measure(std::string_view policy, const std::string& plan, const JobModel& job, std::int32_t nodes) {
  const auto setup = set_up(std::string(policy), nodes);
  const double begin = cpu_s();
  const auto prepared = setup->prepare(job);
  if (!prepared) return;  // dense, or of experts
  const double ready = cpu_s();
  run_day(**prepared, nodes, 0);
  const double first = cpu_s();
  for (std::uint64_t trial = 1; trial <= kMore; ++trial) run_day(**prepared, nodes, trial);
  fmt::print("{:24} {:6} {:12} {:8.3f} {:8.3f} {:8.3f}\n", plan, nodes, policy, ready - begin, first - ready,
             (cpu_s() - first) / static_cast<double>(kMore));
  std::fflush(stdout);
}

void measure_all(const std::vector<std::string_view>& names) {
  fmt::print("{:24} {:>6} {:12} {:>8} {:>8} {:>8}\n", "plan", "nodes", "policy", "prepare", "first", "a day");
  for (const std::int32_t nodes : {2048, 12'352}) {
    const std::pair<std::string, std::int64_t> plans[] = {{"llama3-405b-16k-h100", 16},
                                                          {"lazarus-deepseek-v3-1024", 8}};
    for (const auto& [plan, samples] : plans) {
      const auto job = job_on(plan, nodes, samples);
      for (const PolicyInfo& policy : recovery_policies()) {
        const bool is_asked = names.empty() || std::ranges::find(names, policy.name) != names.end();
        if (is_asked) measure(policy.name, plan, *job, nodes);
      }
    }
  }
}

}  // namespace
}  // namespace goodput::testing

int main(int argc, char** argv) {
  goodput::testing::measure_all({argv + 1, argv + argc});
}
