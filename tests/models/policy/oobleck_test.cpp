// Oobleck: pipelines that form anew. GPT-S has 12 layers; with pipelines of at least two nodes four nodes are
// two pipelines, each with layers 0 to 5 on its first node and 6 to 11 on its second.
#include <doctest/doctest.h>

#include "tests/support/policy_case.h"
#include "tests/support/random_plan.h"

namespace goodput::testing {
namespace {

constexpr const char* kTwoNodes = R"("nodes_per_pipeline": 2)";

}  // namespace

TEST_CASE("oobleck policy: after a loss the nodes that are left form new pipelines and go on") {
  PolicyCase job("oobleck", round_elastic_options(kTwoNodes));
  const SimDuration ten = job.step(10);
  const SimDuration nine = job.step(9);
  const SimDuration fails = ten * 25 + ten / 2;
  JobLog log;
  const JobResult result = job.run(steps(50), held(10, {lost(fails, 3)}), &log);
  CHECK(courses_of(log) == "start reconfiguration");
  CHECK(result.steps_lost == 0);
  CHECK(result.end == at(fails + kReconfiguration + nine * 25));
  CHECK(result.samples == 50 * 40);  // the batch stays
  CHECK(time_in(result, TimeBucket::kElasticSliceDown) == seconds{10});
}

TEST_CASE("oobleck policy: nodes fetch the layers they lack") {
  PolicyCase job("oobleck", R"({"nodes_per_pipeline": 2, "migration": {"transfer_setup_s": 2,
                                "node_gb_per_s": 1}})");
  const SimDuration four = job.step(4);
  // Three nodes are one pipeline of 4 layers each: who had 0-5 takes 0-3, the others had 6-11, and one of
  // them takes 4-7: it lacks two.
  const Bytes layer{module_bytes(job.job().modules(), 14).total().value / 12};
  const JobResult result = job.run(steps(10), held(4, {lost(four * 5, 0)}));
  CHECK(time_in(result, TimeBucket::kElasticReinitialization) ==
        seconds{2} + layer * 2 / BytesPerSecond{1e9});
}

TEST_CASE("oobleck policy: a layer that is lost with all its copies means a restart") {
  PolicyCase job("oobleck", round_elastic_options(kTwoNodes));
  const SimDuration four = job.step(4);
  const SimDuration two = job.step(2);
  const SimDuration fails = four * 25;
  const JobResult result = job.run(steps(50), held(4, {lost(fails, 0), lost(fails, 2)}));
  CHECK(result.count(Cause::kRestart) == 1);
  CHECK(result.steps_lost == 5);
  CHECK(result.end == at(fails + kRestart + two * 30));
  // A first and a last stage: every layer is left.
  const JobResult lucky = job.run(steps(50), held(4, {lost(fails, 0), lost(fails, 3)}));
  CHECK(lucky.count(Cause::kRestart) == 0);
  CHECK(lucky.end == at(fails + kReconfiguration + two * 25));
  // Back at once, but with nothing.
  const JobResult back =
      job.run(steps(50), held(4, {lost(fails, 0), lost(fails, 2), joined(fails, 0), joined(fails, 2)}));
  CHECK(back.count(Cause::kRestart) == 1);
  CHECK(back.end == at(fails + kRestart + four * 30));
}

TEST_CASE("oobleck policy: who was lost and is back fetches all its layers") {
  PolicyCase job("oobleck", R"({"nodes_per_pipeline": 2, "migration": {"transfer_setup_s": 2,
                                "node_gb_per_s": 1}})");
  const SimDuration four = job.step(4);
  const Bytes layer{module_bytes(job.job().modules(), 14).total().value / 12};
  const JobResult result = job.run(steps(10), held(4, {lost(four * 5, 0), joined(four * 5, 0)}));
  CHECK(time_in(result, TimeBucket::kElasticReinitialization) ==
        seconds{2} + layer * 6 / BytesPerSecond{1e9});
}

TEST_CASE("oobleck policy: a loss during a reconfiguration means a restart") {
  PolicyCase job("oobleck", round_elastic_options(kTwoNodes));
  const SimDuration four = job.step(4);
  const SimDuration two = job.step(2);
  const JobResult result =
      job.run(steps(50), held(4, {lost(four * 25, 0), lost(four * 25 + seconds{20}, 1)}));
  CHECK(result.count(Cause::kReconfiguration) == 1);
  CHECK(result.count(Cause::kRestart) == 1);
  CHECK(result.end == at(four * 25 + seconds{20} + kRestart + two * 30));
}

TEST_CASE("oobleck policy: gathered nodes are taken in without a restart") {
  PolicyCase job("oobleck", round_elastic_options(kTwoNodes + std::string(R"(, "gather_s": 100)")));
  const SimDuration four = job.step(4);
  const SimDuration five = job.step(5);
  const std::int64_t done = (four * 2 + seconds{100}) / four + 1;
  JobLog log;
  const JobResult result = job.run(steps(done + 5), held(4, {joined(four * 2, 7)}), &log);
  CHECK(courses_of(log) == "start scale-up");
  CHECK(result.end == at(four * done + seconds{10} + five * 5));
  CHECK(time_in(result, TimeBucket::kElasticScaleUp) == seconds{10});
}

TEST_CASE("oobleck policy: slow nodes are left out or swapped without a restart") {
  for (const char* action : {"evict", "swap"}) {
    CAPTURE(action);
    PolicyCase job(
        "oobleck",
        round_elastic_options(kTwoNodes + std::string(R"(, "slow_nodes": {"action": ")") + action + "\"}"),
        gpt_s(4));
    const SimDuration four = job.step(4);
    JobLog log;
    const JobResult result = job.run(steps(50), held(5, {slowed(four * 14 + four / 2, 0, 0.5)}), &log);
    CHECK(courses_of(log) == "start reconfiguration");
    CHECK(log.node_sets.back() == std::vector<NodeId>{1, 2, 3, 4});
    CHECK(result.steps_lost == 0);
    CHECK(result.end == at(four * 15 + seconds{10} + four * 35));
  }
}

TEST_CASE("oobleck policy: without one whole pipeline it waits") {
  PolicyCase job("oobleck", round_elastic_options(R"("nodes_per_pipeline": 3)"));
  const SimDuration three = job.step(3);
  const JobResult result = job.run(steps(50), held(3, {lost(three, 0)}));
  CHECK(result.stopped == "the job needs 3 nodes, has 2, and no more node changes are coming");
}

TEST_CASE("oobleck policy: fewer nodes than the shortest pipeline cannot run the job") {
  CHECK(refusal("oobleck", R"({"nodes_per_pipeline": 5})", *gpt_s(3)) ==
        ": 3 nodes cannot hold one pipeline, which takes at least 5");
}

TEST_CASE("oobleck policy: bad options name their place") {
  TrainingPlan plan = gpt_s_plan(20);
  CHECK(refusal("oobleck", R"({"nodes_per_pipeline": 13})", *job_of(plan)) ==
        "/nodes_per_pipeline: is 13, which makes more stages than the model's 12 layers");
  TrainingPlan wide = small_plan();
  wide.parallel.tp = 2;
  wide.cluster.gpus_per_node = 1;
  CHECK(refusal("oobleck", "{}", *job_of(wide)) ==
        ": a stage of the plan takes 2 GPUs, which does not divide the 1 GPUs of a node");
}

}  // namespace goodput::testing
