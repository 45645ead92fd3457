// DeepSpeed-MoE and Tutel as they are: expert-parallel groups and restarts
// (tests/models/policy/checkpoint_test.cpp has what all restarts have in common).
#include <doctest/doctest.h>

#include "models/checkpoint/save_interval.h"
#include "tests/support/policy_case.h"
#include "tests/support/random_plan.h"

namespace goodput::testing {

TEST_CASE("ds policy: a job uses whole groups of ep GPUs, and the rest is idle") {
  PolicyCase job("ds", round_options(R"("ep": 4)"));
  const SimDuration eight = job.step(8);
  const SimDuration four = job.step(4);
  // 10 nodes: two groups. When one of the 8 is lost the two idle ones make up for it; with 7 left, one group.
  JobLog log;
  const NodeEvents events =
      held(10, {lost(eight * 10, 2), lost(eight * 20 + seconds{75}, 0), lost(eight * 20 + seconds{75}, 1)});
  const JobResult result = job.run(steps(30), events, &log);
  REQUIRE(log.node_sets.size() == 3);
  CHECK(log.node_sets[0] == std::vector<NodeId>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(log.node_sets[1] == std::vector<NodeId>{0, 1, 3, 4, 5, 6, 7, 8});
  CHECK(log.node_sets[2] == std::vector<NodeId>{3, 4, 5, 6});
  CHECK(result.end == at(eight * 20 + seconds{150} + four * 10));
  CHECK(result.ledger.node_time[index(kIdle)] == NodeTime{(eight * 10).count()} * 2 +
                                                     NodeTime{(eight * 10 + seconds{75}).count()} +
                                                     NodeTime{(four * 10 + seconds{75}).count()} * 3);
}

TEST_CASE("ds policy: a checkpoint every 50 steps in its default, written while training stands still") {
  PolicyCase job("ds", R"({"checkpoint": {"write_gb_per_s": 7.3}})");
  const SimDuration ten = job.step(10);
  const SimDuration save = module_bytes(job.job().modules(), 14).total() / BytesPerSecond{7.3e9};
  const JobResult result = job.run(steps(151), held(10));
  CHECK(result.end == at(ten * 151 + save * 3));
  CHECK(time_in(result, kSave) == save * 3);
}

TEST_CASE("ds policy: checkpoints by a rule are as far apart as it says") {
  const std::string timing = R"("restart": {"detect_s": 15, "startup_s": 60})";
  for (const IntervalRule rule : {IntervalRule::kYoung, IntervalRule::kDaly, IntervalRule::kOptimal}) {
    const std::string name(kIntervalRuleNames[static_cast<std::size_t>(rule)]);
    PolicyCase job("ds",
                   "{" + timing + R"(, "checkpoint": {"interval": ")" + name + R"(", "mtbf_hours": 2}})");
    const SimDuration ten = job.step(10);
    const double save = to_seconds(module_bytes(job.job().modules(), 14).total() / BytesPerSecond{1e9});
    const std::int64_t every = interval_steps(rule, {7200, save, 75 + save}, to_seconds(ten));
    CAPTURE(name);
    CHECK(every > 1);
    const JobResult one = job.run(steps(every), held(10));  // nothing is saved after the last step
    const JobResult two = job.run(steps(every + 1), held(10));
    CHECK(time_in(one, kSave) == SimDuration{});
    CHECK(to_seconds(time_in(two, kSave)) == doctest::Approx(save).epsilon(1e-9));
  }
}

TEST_CASE("ds policy: asynchronous checkpoints follow each other no faster than storage takes them") {
  // 7.3 GB at 1 GB/s: 7.3 s, some 15 steps; saved every 4 steps if there was time.
  PolicyCase job("ds", R"({"restart": {"detect_s": 0, "startup_s": 0},
                           "checkpoint": {"mode": "async", "interval_steps": 4, "read_gb_per_s": 1e12,
                                          "snapshot_gb_per_s": 1e12}})");
  const SimDuration ten = job.step(10);
  const SimDuration write = module_bytes(job.job().modules(), 14).total() / BytesPerSecond{1e9};
  const std::int64_t every = (write.count() + ten.count() - 1) / ten.count();
  REQUIRE(every > 4);
  // Lost just before the first one is written: back to the start. Just after: back to the checkpoint.
  const SimDuration there = ten * every + write;
  const auto lost_steps = [&](SimDuration when) {
    return job.run(steps(10 * every), held(10, {lost(when, 0), joined(when, 0)})).steps_lost;
  };
  CHECK(lost_steps(there - SimDuration{1}) == (there - SimDuration{1}) / ten);
  CHECK(lost_steps(there) == there / ten - every);
}

TEST_CASE("ds policy: a rule asks for no more checkpoints than storage takes") {
  // In the background they hardly cost anything: the best interval is shorter than the 7.3 s that one takes.
  PolicyCase job("ds", R"({"checkpoint": {"mode": "async", "interval": "optimal", "mtbf_hours": 1}})");
  CHECK(job.run(steps(1000), held(10)).saves_skipped == 0);
}

TEST_CASE("tutel policy: it is as fast as ds unless moe_speedup says otherwise") {
  PolicyCase ds("ds", "{}");
  PolicyCase tutel("tutel", "{}");
  CHECK(tutel.step(10) == ds.step(10));
  PolicyCase fast("tutel", R"({"moe_speedup": 1.2})");
  PolicyCase fast_ds("ds", R"({"moe_speedup": 1.2})");
  CHECK(fast.step(10) < ds.step(10));
  CHECK(fast.step(10) == fast_ds.step(10));
  PolicyCase slow("tutel", R"({"step_overhead_s": 0.25})");
  CHECK(slow.step(10) == ds.step(10) + std::chrono::milliseconds{250});
}

TEST_CASE("ds policy: bad options name their place") {
  const JobPointer job = gpt_s();
  CHECK(refusal("ds", R"({"ep": 3})", *job) == "/ep: is 3, which does not divide the model's 8 experts");
  CHECK(refusal("ds", R"({"ep": -1})", *job) ==
        "s.json /policies/ds/ep: must be an integer from 0 to 2147483647, not -1");
  CHECK(refusal("ds", R"({"moe_speedup": 0})", *job) ==
        "s.json /policies/ds/moe_speedup: must be a number from 0.01 to 100, not 0");
  CHECK(refusal("tutel", "{}", *job_of(small_plan())) == ": the model has no experts; choose another policy");
  CHECK(refusal("ds", R"({"ep": 8})", *gpt_s(6)) ==
        ": 6 nodes of 1 GPUs cannot hold one expert-parallel group of 8 GPUs");
}

TEST_CASE("ds policy: groups stand on every stage of a pipeline; who needs all layers on a node refuses") {
  TrainingPlan plan = gpt_s_plan(8);
  plan.parallel.pp = 2;
  plan.parallel.dp = 4;
  PolicyCase ds("ds", "{}", job_of(plan));
  PolicyCase planned("checkpoint", "{}", job_of(plan));
  CHECK(ds.step(8) == planned.step(8));  // balanced, as the plan's own experts are
  CHECK(ds.step(4) == planned.step(4));
  const auto says = [&](const std::string& policy, const std::string& what) {
    return refusal(policy, "{}", ds.job()).find("/parallel/pp: must be 1, not 2, because " + what) !=
           std::string::npos;
  };
  CHECK(refusal("lazarus", "{}", ds.job()).empty());
  CHECK(says("ds_ft", "every node holds part of every layer"));
  CHECK(says("pec", "every node holds part of every layer"));
}

TEST_CASE("ds policy: what does not fit into memory is a warning") {
  PolicyCase fits("ds", "{}");
  CHECK(fits.prepared().warnings().empty());
  TrainingPlan plan = gpt_s_plan(10);
  plan.cluster.gpu.memory = Bytes{std::int64_t{4} << 30};
  PolicyCase ds("ds", "{}", job_of(plan));
  CHECK(ds.prepared().warnings().size() == 1);
  PolicyCase lazarus("lazarus", "{}", job_of(plan));
  CHECK(lazarus.prepared().warnings().size() == 2);  // and it writes no checkpoints
}

}  // namespace goodput::testing
