// Jobs whose steps always count the plan's samples, whatever the nodes (models/job/step_batch.h).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/policy/policy.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

// 40 samples a step in micro-batches of 4 on nodes of one GPU: one for each of 10, two for each of 5.
JobPointer fixed_gpt_s(std::int32_t most_nodes = 10) {
  TrainingPlan plan = gpt_s_plan(10);
  plan.parallel.ep = 1;
  plan.cluster.nodes = most_nodes;
  return job_of(std::move(plan), JobRouting::balanced(12, 8), JobStart::kRunning, BatchRule::kFixed);
}

JobResult run_on(PolicyCase& job, std::int32_t nodes) {
  return job.run(steps(10), held(nodes));
}

double idle_nodes(const JobResult& result) {
  return node_seconds(result.ledger.node_time[index(kIdle)]) / result.wall_s();
}

// GPT-S in interleaved pipelines, a node a stage.
TrainingPlan interleaved_plan(std::int32_t nodes, std::int32_t dp, std::int32_t stages, std::int32_t chunks) {
  TrainingPlan plan = gpt_s_plan(nodes);
  plan.parallel.dp = dp;
  plan.parallel.pp = stages;
  plan.parallel.vpp = chunks;
  plan.parallel.schedule = "interleaved";
  return plan;
}

constexpr const char* kFiveOfNine =
    "of 9 nodes, 5 train and 4 are idle: with micro_batch 4, more replicas would not shorten a step of 40 "
    "samples";

}  // namespace

TEST_CASE("fixed batch: every policy counts the plan's samples a step on any number of nodes") {
  for (const PolicyInfo& info : recovery_policies()) {
    CAPTURE(info.name);
    for (const std::int32_t nodes : {5, 8, 9, 10, 16}) {
      CAPTURE(nodes);
      const bool is_fixed = info.name == "gemini" || info.name == "hot_spare";
      PolicyCase job(std::string(info.name), is_fixed ? R"({"nodes": 5})" : "{}", fixed_gpt_s(16));
      CHECK(run_on(job, nodes).samples == 400);
    }
  }
}

TEST_CASE("fixed batch: a job uses the fewest nodes that are as fast, and the rest idle") {
  PolicyCase job("checkpoint", round_options(), fixed_gpt_s(20));
  CHECK(idle_nodes(run_on(job, 20)) == doctest::Approx(10));
  CHECK(idle_nodes(run_on(job, 10)) == 0);
  CHECK(idle_nodes(run_on(job, 9)) == doctest::Approx(4));
  CHECK(job.step(20) == job.step(10));
  CHECK(job.step(9) == job.step(5));
  CHECK(job.step(9) > job.step(10));
}

TEST_CASE("fixed batch: nodes that idle are named, on all nodes or on the most where some do") {
  for (const char* policy : {"checkpoint", "ds", "lazarus"}) {
    CAPTURE(policy);
    const PolicyCase all(policy, R"({"checkpoint": {"interval_steps": 10}})", fixed_gpt_s(9));
    CHECK(all.prepared().warnings() == std::vector<std::string>{kFiveOfNine});
    const PolicyCase later(policy, R"({"checkpoint": {"interval_steps": 10}})", fixed_gpt_s());
    CHECK(later.prepared().warnings() == std::vector<std::string>{kFiveOfNine});
  }
  const PolicyCase fixed("hot_spare", R"({"nodes": 9})", fixed_gpt_s());
  CHECK(fixed.prepared().warnings() == std::vector<std::string>{kFiveOfNine});
  CHECK(PolicyCase("hot_spare", R"({"nodes": 5})", fixed_gpt_s()).prepared().warnings().empty());
  CHECK(PolicyCase("checkpoint", "{}", gpt_s(9)).prepared().warnings().empty());  // per replica
}

TEST_CASE("fixed batch: Lazarus keeps as many nodes as hold every expert") {
  // One slot a GPU: 8 experts take 8 nodes, where 5 would train as fast.
  PolicyCase job("lazarus", R"({"slots_per_gpu": 1, "checkpoint": {"interval_steps": 10}})", fixed_gpt_s());
  CHECK(idle_nodes(run_on(job, 9)) == doctest::Approx(1));
  CHECK(run_on(job, 9).samples == 400);
}

TEST_CASE("fixed batch: pipelines are no more than the micro-batches that they share") {
  // 10 micro-batches of 4, and pipelines of one node: of 16 nodes 10 pipelines, six of them of two nodes.
  PolicyCase job("oobleck", R"({"nodes_per_pipeline": 1})", fixed_gpt_s(16));
  const JobResult result = run_on(job, 16);
  CHECK(result.samples == 400);
  CHECK(idle_nodes(result) == 0);
}

TEST_CASE("fixed batch: nodes idle because a schedule wants certain numbers of micro-batches, too") {
  // 36 samples on 8 replicas of 3 stages: 5 micro-batches each, up to 6; 6 replicas need no more.
  TrainingPlan plan = interleaved_plan(24, 4, 3, 2);
  plan.parallel.ep = 1;
  plan.parallel.micro_batch = 1;
  plan.parallel.global_batch = 36;
  const PolicyCase job("checkpoint", "{}",
                       job_of(plan, JobRouting::balanced(12, 8), JobStart::kRunning, BatchRule::kFixed));
  CHECK(job.prepared().warnings() ==
        std::vector<std::string>{"of 24 nodes, 18 train and 6 are idle: with micro_batch 1 and schedule "
                                 "\"interleaved\", more replicas would not shorten a step of 36 samples"});
}

TEST_CASE("fixed batch: what the pipelines of oobleck do not take over from the plan is said") {
  TrainingPlan plan = interleaved_plan(8, 2, 4, 3);
  plan.parallel.ep = 2;
  plan.parallel.global_batch = 64;
  const PolicyCase job("oobleck", "{}", job_of(plan));
  CHECK(
      job.prepared().warnings() ==
      std::vector<std::string>{"the policy's pipelines run 1F1B, not the plan's interleaved schedule (vpp 3)",
                               "each GPU holds all experts of its layers, so the plan's ep 2 has no effect"});
  TrainingPlan split = plan;
  split.parallel.sequence_parallel = true;
  split.parallel.ep = 1;
  split.parallel.etp = 2 * split.parallel.tp;  // over two replicas
  const PolicyCase apart("oobleck", "{}", job_of(split));
  CHECK(
      apart.prepared().warnings().back() ==
      fmt::format("pipelines share no experts, so the plan's etp {} (not a divisor of cp x tp) has no effect",
                  split.parallel.etp));
  plan.parallel.vpp = 1;
  plan.parallel.ep = 1;
  plan.parallel.schedule = "dualpipe";
  const PolicyCase dualpipe("oobleck", "{}", job_of(plan));
  CHECK(dualpipe.prepared().warnings() ==
        std::vector<std::string>{"the policy's pipelines run 1f1b, not the plan's schedule \"dualpipe\""});
  plan.parallel.schedule = "zb-v";  // runs any number of micro-batches, but on two chunks per stage
  plan.parallel.layers_per_stage = {2, 2, 2, 2, 1, 1, 1, 1};
  CHECK(PolicyCase("oobleck", "{}", job_of(plan)).prepared().warnings().front() ==
        "the policy's pipelines run 1f1b, not the plan's schedule \"zb-v\"");
  plan.parallel.schedule = "1f1b";
  plan.parallel.layers_per_stage = {4, 3, 3, 2};
  CHECK(PolicyCase("oobleck", "{}", job_of(plan)).prepared().warnings() ==
        std::vector<std::string>{
            "the policy's pipelines split layers evenly, not by the plan's layers_per_stage"});
}

TEST_CASE("fixed batch: a step of so many micro-batches that nobody can simulate it is not tried") {
  TrainingPlan plan = gpt_s_plan(10);
  plan.parallel.ep = 1;
  plan.parallel.micro_batch = 1;
  plan.parallel.global_batch = 500'000;  // on 10 nodes 50,000 micro-batches each
  const JobPointer job = job_of(plan, JobRouting::balanced(12, 8), JobStart::kRunning, BatchRule::kFixed);
  CHECK(job->steps().usable_nodes(10) == 10);
  CHECK(job->steps().usable_nodes(1) == 0);
  CHECK(job->steps().dense(1).error().message() ==
        "on 1 nodes, the batch of 500000 samples needs more micro-batches per step than goodput can "
        "simulate; use at least 3 replicas");
}

}  // namespace goodput::testing
