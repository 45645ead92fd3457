// DS(FT): groups that form anew as long as every shard of the experts is left. Groups of 2 nodes: even places
// hold one half of the experts, odd ones the other.
#include <doctest/doctest.h>

#include "tests/support/policy_case.h"

namespace goodput::testing {
TEST_CASE("ds_ft policy: a loss leaves groups of those whose shards are there, and costs the step at hand") {
  PolicyCase job("ds_ft", round_regrouping_options());
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  const SimDuration fails = ten * 25 + ten / 2;
  JobLog log;
  const JobResult result = job.run(steps(50), held(10, {lost(fails, 0)}), &log);
  CHECK(courses_of(log) == "start reconfiguration");
  // Shard 0 has 2, 4, 6, 8, shard 1 too many: 9 becomes idle.
  CHECK(log.node_sets.back() == std::vector<NodeId>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(result.steps_lost == 0);
  CHECK(time_in(result, kWasted) == ten / 2);
  CHECK(result.end == at(fails + kReconfiguration + eight * 25));
  CHECK(time_in(result, kRecovery) == seconds{15});
  CHECK(time_in(result, TimeBucket::kElasticSliceDown) == seconds{10});
}

TEST_CASE("ds_ft policy: idle nodes are not used before a restart") {
  PolicyCase job("ds_ft", round_regrouping_options());
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  const SimDuration six = job.step(6);
  const SimDuration four = job.step(4);
  const SimDuration first = ten * 10;
  const SimDuration second = first + kReconfiguration + eight * 10;
  const SimDuration third = second + kReconfiguration + six * 13;
  JobLog log;
  const JobResult result = job.run(
      steps(60), held(10, {lost(first, 0), lost(second, 1), lost(third, 3), lost(third, 5), lost(third, 7)}),
      &log);
  // Then 3, 5 and 7 hold shard 1 of 2, 4, 6; without them it is lost, and 9 comes in. Step 30 was saved.
  CHECK(courses_of(log) == "start reconfiguration reconfiguration restart");
  CHECK(log.node_sets[2] == std::vector<NodeId>{2, 3, 4, 5, 6, 7});
  CHECK(log.node_sets[3] == std::vector<NodeId>{2, 4, 6, 8});
  CHECK(result.steps_lost == 3);
  CHECK(result.end == at(third + kRestart + four * 30));
}

TEST_CASE("ds_ft policy: nodes beyond their group take shards that too few hold, from those that have them") {
  const std::string options = R"({"migration": {"detect_s": 15, "regroup_s": 10, "transfer_setup_s": 2,
                                                "node_gb_per_s": 1}})";
  PolicyCase job("ds_ft", options);
  const SimDuration ten = job.step(10);
  // Shard 0: 0, 8 of 0, 2, 4, 6, 8; shard 1: all five. Three groups: one of shard 1's two spare nodes fetches
  // half of the experts.
  const NodeEvents events = held(10, {lost(ten * 5, 2), lost(ten * 5, 4), lost(ten * 5, 6)});
  const JobResult result = job.run(steps(50), events);
  const ModuleBytes bytes = module_bytes(job.job().modules(), 14);
  const Bytes shard{bytes.one_expert().value * 8 / 2};
  CHECK(result.count(Cause::kReconfiguration) == 1);
  CHECK(time_in(result, TimeBucket::kElasticReinitialization) == seconds{2} + shard / BytesPerSecond{1e9});
  // Only one holder of shard 0 left: it sends to one, then to another. 6 nodes, 3 groups.
  const NodeEvents more = held(10, {lost(ten * 5, 0), lost(ten * 5, 2), lost(ten * 5, 4), lost(ten * 5, 6)});
  CHECK(time_in(job.run(steps(50), more), TimeBucket::kElasticReinitialization) ==
        seconds{2} + shard * 2 / BytesPerSecond{1e9});
}

TEST_CASE("ds_ft policy: who is back at the moment of its loss holds nothing") {
  PolicyCase job("ds_ft", round_regrouping_options());
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  const JobResult result = job.run(steps(50), held(10, {lost(ten * 15, 0), joined(ten * 15, 0)}));
  CHECK(result.count(Cause::kReconfiguration) == 1);  // without it
  CHECK(result.end == at(ten * 15 + kReconfiguration + eight * 35));
  const SimDuration two = job.step(2);
  const JobResult lone = job.run(steps(50), held(2, {lost(two * 15, 0), joined(two * 15, 0)}));
  CHECK(lone.count(Cause::kRestart) == 1);  // its shard is lost
  CHECK(lone.steps_lost == 5);
}

TEST_CASE("ds_ft policy: a loss during a reconfiguration means a restart") {
  PolicyCase job("ds_ft", round_regrouping_options());
  const SimDuration ten = job.step(10);
  const SimDuration eight = job.step(8);
  const SimDuration fails = ten * 25;
  const JobResult result = job.run(steps(50), held(10, {lost(fails, 0), lost(fails + seconds{20}, 1)}));
  CHECK(result.count(Cause::kReconfiguration) == 1);
  CHECK(result.count(Cause::kRestart) == 1);
  CHECK(result.end == at(fails + seconds{20} + kRestart + eight * 30));
  CHECK(time_in(result, TimeBucket::kElasticSliceDown) == seconds{5});
}

TEST_CASE("ds_ft policy: gathered nodes are given shards without a restart") {
  PolicyCase job("ds_ft", round_regrouping_options(R"("absorb": "gathered", "gather_s": 100)"));
  const SimDuration eight = job.step(8);
  const SimDuration ten = job.step(10);
  const std::int64_t done = (eight * 2 + seconds{100}) / eight + 1;
  JobLog log;
  const JobResult result =
      job.run(steps(done + 5), held(8, {joined(eight * 2, 20), joined(eight * 4, 21)}), &log);
  CHECK(courses_of(log) == "start scale-up");
  CHECK(result.end == at(eight * done + seconds{10} + ten * 5));
  CHECK(time_in(result, TimeBucket::kElasticScaleUp) == seconds{10});
  // One alone fills no group: nothing happens.
  CHECK(job.run(steps(2000), held(8, {joined(eight * 2, 20)})).end == at(eight * 2000));
}

TEST_CASE("ds_ft policy: slow nodes are left out without a detection, or swapped in a planned restart") {
  PolicyCase evicts("ds_ft", round_regrouping_options(R"("slow_nodes": {"action": "evict"})"));
  const SimDuration ten = evicts.step(10);
  const SimDuration eight = evicts.step(8);
  const JobResult evicted = evicts.run(steps(50), held(10, {slowed(ten * 14 + ten / 2, 3, 0.5)}));
  CHECK(evicted.count(Cause::kReconfiguration) == 1);
  CHECK(evicted.end == at(ten * 15 + seconds{10} + eight * 35));
  PolicyCase swaps("ds_ft", round_regrouping_options(R"("slow_nodes": {"action": "swap"})"));
  JobLog log;
  const JobResult swapped = swaps.run(steps(50), held(11, {slowed(ten * 14 + ten / 2, 3, 0.5)}), &log);
  CHECK(courses_of(log) == "start restart");
  CHECK(swapped.steps_lost == 0);
  CHECK(swapped.end == at(ten * 15 + seconds{60} + ten * 35));
}

TEST_CASE("ds_ft policy: a group that spans nodes by tensor parallelism is as long as what the job uses") {
  TrainingPlan plan = gpt_s_plan(8);
  plan.parallel.tp = 2;
  plan.parallel.sequence_parallel = true;
  plan.parallel.dp = 4;
  plan.parallel.ep = 1;
  PolicyCase job("ds_ft", round_regrouping_options(), job_of(plan));
  const SimDuration eight = job.step(8);
  // The other of the pair is left over; another pair of halves remains until its nodes are lost, too.
  NodeEvents events = held(8);
  for (NodeId node = 0; node < 7; ++node)
    events.push_back(lost(eight * 5 + std::chrono::minutes{5} * (node + 1), node));
  const JobResult result = job.run(steps(100'000), events);
  CHECK(result.stopped == "the job needs 2 nodes, has 1, and no more node changes are coming");
}

TEST_CASE("tutel_ft policy: ds_ft with the speed of tutel's kernels as an option") {
  PolicyCase ds_ft("ds_ft", R"({"moe_speedup": 1.2})");
  PolicyCase tutel_ft("tutel_ft", R"({"moe_speedup": 1.2})");
  CHECK(tutel_ft.step(10) == ds_ft.step(10));
  const SimDuration ten = tutel_ft.step(10);
  CHECK(tutel_ft.run(steps(50), held(10, {lost(ten * 5, 1)})).count(Cause::kReconfiguration) == 1);
}

TEST_CASE("ds_ft policy: bad options name their place") {
  CHECK(refusal("ds_ft", R"({"migration": {"detect": 3}})", *gpt_s())
            .find("/policies/ds_ft/migration/detect: unknown key; did you mean") != std::string::npos);
  CHECK(refusal("tutel_ft", R"({"ep": 5})", *gpt_s()) ==
        "/ep: is 5, which does not divide the model's 8 experts");
}

}  // namespace goodput::testing
