// Which plans a policy says it can run, against those that it prepares for.
#include "models/policy/plan_limits.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "models/policy/policy.h"
#include "models/schedule/schedule.h"
#include "models/step/memory_model.h"
#include "sim/base/random.h"
#include "tests/support/policy_case.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_plan.h"

namespace goodput::testing {
namespace {

std::int32_t layers_with_experts(const ModelShape& model) {
  std::int32_t layers = 0;
  for (std::int32_t layer = 0; layer < model.layers; ++layer) layers += model.is_moe_layer(layer) ? 1 : 0;
  return layers;
}

// The plan on its own nodes, with a fixed batch and balanced experts.
JobPointer job_on_own_nodes(const TrainingPlan& plan) {
  JobTerms terms{.plan = plan};
  terms.most_nodes = static_cast<std::int32_t>(nodes_of(plan.parallel, plan));
  terms.batch = BatchRule::kFixed;
  const std::int32_t experts = plan.model.moe ? plan.model.moe->experts : 1;
  auto job = JobModel::make(terms, JobRouting::balanced(layers_with_experts(plan.model), experts));
  REQUIRE_MESSAGE(job, job.error().message());
  return *std::move(job);
}

// Why the policy says it cannot run the plan; "" if it can.
std::string stated(const PolicySetup& setup, const TrainingPlan& plan) {
  const auto limits = setup.plan_limits(plan);
  if (!limits) return limits.error().message();
  if (!limits->check) return "";
  const Status check = limits->check(plan.parallel);
  return check ? "" : check.error().message();
}

bool fits(const PlanLimits& limits, const TrainingPlan& plan) {
  const PlacedPlan placed = limits.placed ? limits.placed(plan.parallel) : PlacedPlan{plan.parallel};
  TrainingPlan run = plan;
  run.parallel = placed.parallel;
  return estimate_memory(run, **find_schedule(run.parallel.schedule), placed.slots).fits();
}

Bytes needed(const TrainingPlan& plan) {
  const MemoryReport memory = estimate_memory(plan, **find_schedule(plan.parallel.schedule));
  return memory.stages[memory.fullest].total();
}

}  // namespace

TEST_CASE("plan limits: a policy says it cannot run a plan exactly when it cannot prepare for it") {
  std::map<std::string, std::pair<int, int>> counts;  // by policy: run, refused
  for (std::uint64_t seed = 0; seed < cases(1200); ++seed) {
    CAPTURE(seed);
    TrainingPlan plan = random_plan(seed);
    if (plan.parallel.gpus() % plan.cluster.gpus_per_node != 0) plan.cluster.gpus_per_node = 1;
    RandomStream random(seed, "memory");
    const double room = 0.7 + 0.1 * static_cast<double>(random.below(8));
    plan.cluster.gpu.memory =
        Bytes{static_cast<std::int64_t>(room * static_cast<double>(needed(plan).value))};
    CAPTURE(to_string(plan));
    const JobPointer job = job_on_own_nodes(plan);
    for (const PolicyInfo& info : recovery_policies()) {
      CAPTURE(info.name);
      const auto setup = info.make();
      const std::string why = stated(*setup, plan);
      const auto prepared = setup->prepare(*job);
      INFO("limits: '", why, "', prepare: '", prepared ? "" : prepared.error().message(), "'");
      CHECK(why.empty() == prepared.has_value());
      auto& [run, refused] = counts[std::string(info.name)];
      ++(prepared ? run : refused);
      if (!prepared || info.name == "oobleck") continue;  // which does not count memory
      CHECK(fits(setup->plan_limits(plan).value(), plan) == (*prepared)->fits());
      CHECK((*prepared)->step());
    }
  }
  for (const auto& of_policy : counts) {
    CAPTURE(of_policy.first);
    CHECK(of_policy.second.first > 10);
  }
  CHECK(counts.at("lazarus").second > 10);
  CHECK(counts.at("pec").second > 10);
}

}  // namespace goodput::testing
