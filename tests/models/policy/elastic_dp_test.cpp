// elastic_dp: replicas that are dropped and come back. GPT-S on nodes of one GPU; without expert parallelism
// a node is a replica. Losses are noticed after 15 s and process groups take 10 s; a replica starts in 60 s.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <utility>

#include "models/step/gpu_parameters.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

TrainingPlan plan_on(std::int32_t nodes, std::int32_t zero = 0) {
  TrainingPlan plan = gpt_s_plan(nodes);
  plan.parallel.ep = 1;
  plan.parallel.zero = zero;
  return plan;
}

PolicyCase elastic(std::int32_t nodes, const std::string& more = "") {
  return {"elastic_dp", round_regrouping_options(more), job_of(plan_on(nodes))};
}

constexpr const char* kPairs = R"("nodes_per_replica": 2)";

// Whole steps that begin within `time`.
std::int64_t steps_begun(SimDuration time, SimDuration step) {
  return (time + step - SimDuration{1}) / step;
}

}  // namespace

TEST_CASE("elastic_dp policy: after a loss the other replicas go on") {
  PolicyCase job = elastic(10);
  const SimDuration ten = job.step(10);
  const SimDuration nine = job.step(9);
  const SimDuration fails = ten * 25 + ten / 2;
  JobLog log;
  const JobResult result = job.run(steps(50), held(10, {lost(fails, 3)}), &log);
  CHECK(courses_of(log) == "start reconfiguration");
  CHECK(result.steps_lost == 0);  // but for the step at hand
  CHECK(result.end == at(fails + kReconfiguration + nine * 25));
  CHECK(result.samples == 25 * 40 + 25 * 36);
  CHECK(time_in(result, TimeBucket::kElasticSliceDown) == seconds{10});
}

TEST_CASE(
    "elastic_dp policy: a spare becomes a replica beside the training, and joins at the end of a step") {
  PolicyCase job = elastic(10);
  const SimDuration ten = job.step(10);
  const SimDuration nine = job.step(9);
  const SimDuration fails = ten * 25 + ten / 2;
  // It starts when the loss is noticed. Training goes on 10 s later, and takes it in at the end of the step
  // in which it is ready.
  const std::int64_t without = steps_begun(seconds{60} - seconds{10}, nine);
  JobLog log;
  const JobResult result = job.run(steps(200), held(11, {lost(fails, 3)}), &log);
  CHECK(courses_of(log) == "start reconfiguration scale-up");
  CHECK(log.node_sets.back() == std::vector<NodeId>{0, 1, 2, 4, 5, 6, 7, 8, 9, 10});
  CHECK(result.end ==
        at(fails + kReconfiguration + nine * without + seconds{10} + ten * (200 - 25 - without)));
  CHECK(time_in(result, TimeBucket::kElasticScaleUp) == seconds{10});
  CHECK(time_in(result, TimeBucket::kElasticReinitialization) == SimDuration{});
}

TEST_CASE("elastic_dp policy: a node that comes back starts when it is there") {
  PolicyCase job = elastic(10, R"("rejoin_s": 30)");
  const SimDuration ten = job.step(10);
  const SimDuration nine = job.step(9);
  const SimDuration fails = ten * 25;
  const std::int64_t without = steps_begun(seconds{100} + seconds{30} - kReconfiguration, nine);
  const JobResult result = job.run(steps(400), held(10, {lost(fails, 3), joined(fails + seconds{100}, 3)}));
  CHECK(result.end ==
        at(fails + kReconfiguration + nine * without + seconds{10} + ten * (400 - 25 - without)));
}

TEST_CASE("elastic_dp policy: a replica of several nodes is lost with one, and starts once all are there") {
  PolicyCase job = elastic(10, kPairs);
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  const SimDuration fails = ten * 25;
  JobLog log;
  const JobResult result = job.run(
      steps(400), held(10, {lost(fails, 3), lost(fails + seconds{50}, 4), joined(fails + seconds{100}, 11)}),
      &log);
  // Nodes 2 and 5 are left of two pairs and start as one when the loss of 4 is noticed; 11 is alone.
  CHECK(courses_of(log) == "start reconfiguration reconfiguration scale-up");
  CHECK(log.node_sets.back() == std::vector<NodeId>{0, 1, 2, 5, 6, 7, 8, 9});
  CHECK(job.step(9) == eight);
  CHECK(result.count(Cause::kRestart) == 0);
}

TEST_CASE("elastic_dp policy: a loss while the others regroup is one more, not a restart") {
  PolicyCase job = elastic(10);
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  const SimDuration fails = ten * 25;
  JobLog log;
  const JobResult result = job.run(steps(50), held(10, {lost(fails, 3), lost(fails + seconds{20}, 4)}), &log);
  CHECK(courses_of(log) == "start reconfiguration reconfiguration");
  CHECK(result.end == at(fails + seconds{20} + kReconfiguration + eight * 25));
}

TEST_CASE("elastic_dp policy: without a whole replica it restarts, or waits for one") {
  PolicyCase job = elastic(4, kPairs);
  const SimDuration four = job.step(4);
  const SimDuration two = job.step(2);
  const SimDuration fails = four * 25;
  const JobResult restarted = job.run(steps(50), held(4, {lost(fails, 0), lost(fails, 2)}));
  CHECK(restarted.count(Cause::kRestart) == 1);
  CHECK(restarted.steps_lost == 5);
  CHECK(restarted.end == at(fails + kRestart + two * 30));
  const JobResult waiting = job.run(steps(50), held(2, {lost(two, 0)}));
  CHECK(waiting.stopped == "the job needs 2 nodes, has 1, and no more node changes are coming");
  // A loss while the checkpoint is loaded means another restart: nobody holds anything.
  const JobResult again = job.run(
      steps(50), held(6, {lost(fails, 0), lost(fails, 2), joined(fails, 7), lost(fails + seconds{5}, 4)}));
  CHECK(again.count(Cause::kRestart) == 2);
  CHECK(again.count(Cause::kReconfiguration) == 0);
  CHECK(again.end == at(fails + seconds{5} + kRestart + four * 30));
}

TEST_CASE("elastic_dp policy: a replica that loses a node while it starts does so again") {
  PolicyCase job = elastic(10);
  const SimDuration ten = job.step(10);
  const SimDuration nine = job.step(9);
  const SimDuration fails = ten * 25;
  // Spare 10 is lost 50 s after it began; 11 begins when that is noticed.
  const SimDuration ready = seconds{15} + seconds{50} + seconds{15} + seconds{60};
  const std::int64_t without = steps_begun(ready - kReconfiguration, nine);
  const JobResult result = job.run(steps(400), held(12, {lost(fails, 3), lost(fails + seconds{65}, 10)}));
  CHECK(result.end ==
        at(fails + kReconfiguration + nine * without + seconds{10} + ten * (400 - 25 - without)));
}

TEST_CASE("elastic_dp policy: state comes beside the training, or all stop for it") {
  const auto options = [](const char* catch_up) {
    return fmt::format(R"({{{}, "catch_up": "{}", "migration": {{"detect_s": 15, "regroup_s": 10,
                            "transfer_setup_s": 2, "node_gb_per_s": 1}}}})",
                       kRoundRestart, catch_up);
  };
  const SimDuration fails = seconds{100};
  for (const char* catch_up : {"beside", "stop"}) {
    CAPTURE(catch_up);
    PolicyCase job("elastic_dp", options(catch_up), job_of(plan_on(10)));
    const SimDuration transfer =
        seconds{2} + module_bytes(job.job().modules(), 14).total() / BytesPerSecond{1e9};
    const SimDuration ten = job.step(10);
    const SimDuration nine = job.step(9);
    const bool stops = std::string(catch_up) == "stop";
    const SimDuration ready = seconds{50} + (stops ? SimDuration{} : transfer);  // after training goes on
    const std::int64_t without = steps_begun(ready, nine);
    const std::int64_t before = fails / ten;
    const JobResult result = job.run(steps(1000), held(11, {lost(fails, 3)}));
    CHECK(time_in(result, TimeBucket::kElasticReinitialization) == (stops ? transfer : SimDuration{}));
    CHECK(result.end == at(fails + kReconfiguration + nine * without + seconds{10} +
                           (stops ? transfer : SimDuration{}) + ten * (1000 - before - without)));
  }
}

TEST_CASE("elastic_dp policy: who has not got the state yet cannot go on with it alone") {
  const auto options = [](const char* catch_up) {
    return round_regrouping_options(fmt::format(R"("catch_up": "{}")", catch_up));
  };
  for (const char* catch_up : {"beside", "stop"}) {
    CAPTURE(catch_up);
    PolicyCase job("elastic_dp", options(catch_up), job_of(plan_on(2)));
    const SimDuration two = job.step(2);
    const SimDuration one = job.step(1);
    const SimDuration fails = two * 5;
    const std::int64_t alone = steps_begun(seconds{50}, one);
    const SimDuration joins = fails + kReconfiguration + one * alone;
    // Node 1 is lost, 2 takes its place; 0 is lost while the groups form.
    const JobResult result = job.run(steps(500), held(3, {lost(fails, 1), lost(joins + seconds{5}, 0)}));
    const bool stops = std::string(catch_up) == "stop";
    CHECK(result.count(Cause::kRestart) == (stops ? 1 : 0));
    CHECK(result.count(Cause::kReconfiguration) == (stops ? 1 : 2));
  }
}

TEST_CASE("elastic_dp policy: a replica with a slow node is dropped, and comes back with another") {
  for (const char* action : {"evict", "swap"}) {
    CAPTURE(action);
    PolicyCase job = elastic(4, fmt::format(R"("slow_nodes": {{"action": "{}"}})", action));
    const SimDuration four = job.step(4);
    const SimDuration three = job.step(3);
    const std::int64_t without = steps_begun(seconds{60} - seconds{10}, three);
    JobLog log;
    const JobResult result = job.run(steps(300), held(5, {slowed(four * 14 + four / 2, 0, 0.5)}), &log);
    CHECK(courses_of(log) == "start reconfiguration scale-up");
    CHECK(log.node_sets.back() == std::vector<NodeId>{1, 2, 3, 4});
    CHECK(result.end ==
          at(four * 15 + seconds{10} + three * without + seconds{10} + four * (300 - 15 - without)));
  }
}

TEST_CASE("elastic_dp policy: with a fixed batch replicas that would make no step faster idle") {
  TrainingPlan plan = plan_on(10);
  const auto fixed = [&plan] {
    return job_of(plan, JobRouting::balanced(12, 8), JobStart::kRunning, BatchRule::kFixed);
  };
  PolicyCase job("elastic_dp", round_regrouping_options(), fixed());
  CHECK(job.prepared().warnings() ==
        std::vector<std::string>{"of 9 nodes, 5 train and 4 are idle: with micro_batch 4, more replicas "
                                 "would not shorten a step of 40 samples"});
  JobLog log;
  const JobResult result = job.run(steps(50), held(10, {lost(job.step(10) * 25, 3)}), &log);
  CHECK(result.samples == 50 * 40);
  CHECK(log.node_sets.back().size() == 5);
  CHECK(courses_of(log) == "start reconfiguration");  // nobody starts in vain
}

TEST_CASE("elastic_dp policy: ZeRO shards within a replica group, and what that costs is said") {
  const TrainingPlan plan = plan_on(12, 1);
  const PolicyCase prepared("elastic_dp", R"({"nodes_per_replica": 3})", job_of(plan));
  REQUIRE(prepared.prepared().warnings().size() == 1);
  const std::string& warning = prepared.prepared().warnings().front();
  // 12 B a dense parameter: a third of them instead of a twelfth; no expert is anywhere else either.
  const GpuParameters held = parameters_at(plan, {}, layers_by_position(plan, 1), 0);
  const double more = 12 * (held.dense + held.experts) * (1. / 3 - 1. / 12) / (1 << 30);
  CHECK(warning.starts_with(fmt::format(
      "shards the optimizer state over 3 GPUs within a replica group, not over 12 GPUs; this takes "
      "{:.1f} GiB more per GPU (",
      more)));
  CHECK(warning.find(", and steps take ") != std::string::npos);
  // Steps are those of the plan with an instance a group.
  TrainingPlan instances = plan;
  instances.parallel.zero_instances = 4;
  PolicyCase job("elastic_dp", R"({"nodes_per_replica": 3})", job_of(plan));
  CHECK(job.step(12) == job_of(instances)->steps().planned(instances.parallel)->step);
  const PolicyCase single("elastic_dp", "{}", job_of(plan));
  CHECK(single.prepared().warnings().front().starts_with(
      "holds the optimizer state unsharded on every GPU, not sharded over 12 GPUs; "));
  // A plan that shards so already, or not at all, loses nothing.
  CHECK(PolicyCase("elastic_dp", R"({"nodes_per_replica": 3})", job_of(instances))
            .prepared()
            .warnings()
            .empty());
  CHECK(PolicyCase("elastic_dp", "{}", job_of(plan_on(12))).prepared().warnings().empty());
}

TEST_CASE("elastic_dp policy: a replica group that does not fit its GPUs is said to") {
  TrainingPlan plan = plan_on(12, 1);
  plan.cluster.gpu.memory = Bytes{std::int64_t{4} << 30};
  const PolicyCase job("elastic_dp", "{}", job_of(plan));
  CHECK(job.prepared().warnings().front().find("GiB more per GPU (does not fit, ") != std::string::npos);
}

TEST_CASE("elastic_dp policy: a replica group has whole expert-parallel groups") {
  PolicyCase job("elastic_dp", round_regrouping_options());  // ep 2
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  const JobResult result = job.run(steps(50), held(10, {lost(ten * 25, 3)}));
  CHECK(result.end == at(ten * 25 + kReconfiguration + eight * 25));
  CHECK(
      refusal("elastic_dp", R"({"nodes_per_replica": 3})", job.job()) ==
      "/nodes_per_replica: must be a multiple of 2, not 3, so that whole replicas of 2 GPUs fill the nodes");
}

TEST_CASE("elastic_dp policy: replicas of pipelines and of several nodes are groups by themselves") {
  TrainingPlan plan = plan_on(12);
  plan.parallel.dp = 3;
  plan.parallel.pp = 4;
  plan.parallel.global_batch = 48;
  PolicyCase job("elastic_dp", round_regrouping_options(), job_of(plan));
  const SimDuration twelve = job.step(12);
  JobLog log;
  const JobResult result = job.run(steps(50), held(12, {lost(twelve * 25, 5)}), &log);
  CHECK(log.node_sets.back() == std::vector<NodeId>{0, 1, 2, 3, 8, 9, 10, 11});
  CHECK(result.end == at(twelve * 25 + kReconfiguration + job.step(8) * 25));
}

TEST_CASE("elastic_dp policy: fewer nodes than a replica group takes cannot run the job") {
  CHECK(refusal("elastic_dp", R"({"nodes_per_replica": 5})", *job_of(plan_on(3))) ==
        "/nodes_per_replica: is 5, but the job has only 3 nodes");
  TrainingPlan stages = plan_on(12);
  stages.parallel.dp = 3;
  stages.parallel.pp = 4;
  stages.parallel.global_batch = 48;
  JobTerms terms{.plan = stages, .most_nodes = 3};
  const auto few = JobModel::make(std::move(terms), JobRouting::balanced(0, 1));
  REQUIRE(few);
  CHECK(refusal("elastic_dp", "{}", **few) ==
        ": are too few: 3 nodes cannot hold one replica group, which takes 4 nodes");
}

TEST_CASE("plan's instances: those who lose nodes for good refuse ZeRO, others keep or sum up instances") {
  TrainingPlan plan = plan_on(10, 1);
  plan.parallel.zero_instances = 5;  // of two replicas
  for (const char* policy : {"lazarus", "ds_ft", "tutel_ft"}) {
    CHECK(refusal(policy, "{}", *job_of(plan))
              .find("/parallel/zero: must be 0, not 1, because a lost node would take its shard of the "
                    "optimizer state with it") != std::string::npos);
  }
  for (const char* policy : {"checkpoint", "ds", "oobleck", "elastic_dp"}) {
    CAPTURE(policy);
    PolicyCase job(policy, "{}", job_of(plan));
    for (const std::int32_t nodes : {2, 3, 7, 10}) CHECK(job.step(nodes) > SimDuration{});
  }
}

}  // namespace goodput::testing
