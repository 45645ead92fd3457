#include "models/policy/job_warnings.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

// Two experts of eight get all tokens of every layer.
JobRouting skewed_routing() {
  std::vector<std::int64_t> layers;
  std::vector<std::int64_t> loads;
  for (std::int64_t layer = 0; layer < 12; ++layer) {
    layers.push_back(layer);
    loads.insert(loads.end(), {50, 50, 0, 0, 0, 0, 0, 0});
  }
  auto routing =
      JobRouting::from_trace({{0}, layers, 8, loads}, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 8, 0});
  REQUIRE_MESSAGE(routing, (routing ? "" : routing.error().message()));
  return *std::move(routing);
}

std::vector<std::string> warnings_of(const char* policy, const TrainingPlan& plan, JobRouting routing) {
  const PolicyCase job(policy, R"({"checkpoint": {"interval_steps": 10}})",
                       job_of(plan, std::move(routing), JobStart::kRunning));
  return job.prepared().warnings();
}

}  // namespace

TEST_CASE("job warnings: a plan that does not fit its GPUs is named, with experts and without") {
  TrainingPlan plan = gpt_s_plan(8);
  plan.cluster.gpu.memory = Bytes{1LL << 30};
  TrainingPlan dense = plan;
  dense.model.moe.reset();
  dense.parallel.ep = 1;
  for (const TrainingPlan& one : {plan, dense}) {
    for (const char* policy : {"checkpoint", "gemini", "hot_spare", "megatron"}) {
      CAPTURE(policy);
      const PolicyCase job(policy, "{}", job_of(one));
      REQUIRE(job.prepared().warnings().size() == 1);
      CHECK(job.prepared().warnings()[0].starts_with("does not fit, "));
    }
  }
}

TEST_CASE("job warnings: a job that waits for more nodes than there ever are never trains") {
  const auto warnings = [](const char* policy, const std::string& options, std::int32_t ever) {
    JobTerms terms{.plan = gpt_s_plan(10), .nodes_ever = ever, .batch = BatchRule::kPerReplica};
    auto job = JobModel::make(std::move(terms), JobRouting::balanced(12, 8));
    REQUIRE(job);
    return PolicyCase(policy, options, *std::move(job)).prepared().warnings();
  };
  const auto never = [](int needed, int ever) {
    return std::vector<std::string>{fmt::format(
        "never trains, because the policy needs {} nodes, but the failure models provide at most {}", needed,
        ever)};
  };
  CHECK(warnings("ds", "{}", 1) == never(2, 1));
  CHECK(warnings("ds", "{}", 2).empty());
  CHECK(warnings("hot_spare", R"({"nodes": 6})", 5) == never(6, 5));
  CHECK(warnings("hot_spare", R"({"nodes": 6})", 6).empty());
  CHECK(warnings("oobleck", R"({"nodes_per_pipeline": 9})", 8) ==
        std::vector<std::string>{"each GPU holds all experts of its layers, so the plan's ep 2 has no effect",
                                 never(9, 8)[0]});
  const auto lazarus = warnings("lazarus", R"({"slots_per_gpu": 2})", 3);
  CHECK(std::find(lazarus.begin(), lazarus.end(), never(4, 3)[0]) != lazarus.end());
}

TEST_CASE("job warnings: whose experts do not get what the scenario's routing says") {
  CHECK_FALSE(skewed_routing().is_balanced());
  CHECK(JobRouting::balanced(12, 8).is_balanced());
  TrainingPlan plan = gpt_s_plan(8);
  plan.parallel.ep = 1;
  const std::vector<std::string> plan_decides = {
      "uses the plan's expert_load for expert loads, not the scenario's routing"};
  CHECK(warnings_of("oobleck", plan, skewed_routing()) == plan_decides);
  CHECK(warnings_of("oobleck", plan, JobRouting::balanced(12, 8)).empty());
  CHECK(warnings_of("ds", plan, skewed_routing()).empty());
  CHECK(warnings_of("lazarus", plan, skewed_routing()).empty());
  plan.parallel.pp = 2;
  plan.parallel.dp = 4;
  CHECK(warnings_of("checkpoint", plan, skewed_routing()) == plan_decides);
}

TEST_CASE("job warnings: whose experts do not get what the plan says") {
  TrainingPlan plan = gpt_s_plan(8);
  plan.parallel.ep = 1;
  plan.expert_load.skew = 1;
  const std::vector<std::string> scenario_decides = {
      "uses the scenario's routing for expert loads, not the plan's expert_load"};
  CHECK(warnings_of("ds", plan, JobRouting::balanced(12, 8)) == scenario_decides);
  CHECK(warnings_of("lazarus", plan, JobRouting::balanced(12, 8)) == scenario_decides);
  CHECK(warnings_of("oobleck", plan, JobRouting::balanced(12, 8)).empty());
}

}  // namespace goodput::testing
