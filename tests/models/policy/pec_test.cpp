// Partial experts checkpoints: what they cost in time is tested with goodput checkpoint, what they lose in
// tokens must be what models/checkpoint/lost_tokens.h says for the same faults.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "models/checkpoint/lost_tokens.h"
#include "sim/base/random.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

std::string pec_options(const PecLevels& k, ExpertSelection selection, const std::string& more = "") {
  return R"({"restart": {"detect_s": 15, "startup_s": 60},
             "checkpoint": {"interval_steps": 10, "mode": "sync", "write_gb_per_s": 1e12,
                            "read_gb_per_s": 1e12, "snapshot_gb_per_s": 1e12},
             "k_snapshot": )" +
         std::to_string(k.snapshot) + R"(, "k_persist": )" + std::to_string(k.persist) +
         R"(, "selection": ")" + std::string(kExpertSelectionNames[static_cast<std::size_t>(selection)]) +
         "\"" + more + "}";
}

// Lost and replaced at once, so that all ten nodes train all the time.
struct ReplacedNodes {
  NodeEvents events = held(10);
  std::vector<CheckpointFault> faults{};
  std::int64_t steps_lost = 0;
  SimDuration now{};
  std::int64_t step = 0;

  // In the middle of the step after `fault.step`; without a rank two nodes.
  void add(const CheckpointFault& fault, SimDuration ten) {
    now += ten * (fault.step - step) + ten / 2;
    const std::vector<NodeId> nodes =
        fault.rank ? std::vector<NodeId>{*fault.rank} : std::vector<NodeId>{2, 5};
    for (const NodeId node : nodes) events.push_back(lost(now, node));
    for (const NodeId node : nodes) events.push_back(joined(now, node));
    now += kRestart;
    step = fault.step / 10 * 10;
    steps_lost += fault.step - step;
    faults.push_back(fault);
  }
};

}  // namespace

TEST_CASE("pec policy: loses the tokens that goodput checkpoint finds for the same faults") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "pec");
    PecLevels k{static_cast<std::int32_t>(1 + random.below(8)), 1};
    k.persist = static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(k.snapshot)));
    const auto selection = random.below(2) == 0 ? ExpertSelection::kSequential : ExpertSelection::kLoadAware;
    PolicyCase job("pec", pec_options(k, selection));
    const SimDuration ten = job.step(10);
    ReplacedNodes nodes;
    std::int64_t fault_at = 0;
    while (true) {
      fault_at += static_cast<std::int64_t>(1 + random.below(60));
      if (fault_at >= 390) break;
      CheckpointFault fault{fault_at, {}};
      if (random.below(4) > 0) fault.rank = static_cast<std::int32_t>(random.below(10));
      nodes.add(fault, ten);
    }
    const JobResult result = job.run(steps(400), nodes.events);
    REQUIRE(result.finished);
    CHECK(result.steps_lost == nodes.steps_lost);
    const PecSchedule schedule{k, selection, 10, 10, 400, {}, {}};
    const ExpertTokens tokens = expert_tokens(job.job().modules(), 40 * 1024, 0, 0);
    CHECK(metric(result, "plt") ==
          doctest::Approx(replay_losses(tokens, schedule, nodes.faults).plt).epsilon(1e-12));
  }
}

TEST_CASE("pec policy: a node loses what all its GPUs held") {
  // 8 experts on 2 nodes of 4 GPUs: experts 0 to 3 are the first node's. In memory all experts are saved, in
  // storage one, in turn: expert (1 + layer) mod 8 after step 10, (2 + layer) mod 8 after step 20. What the
  // second node keeps in memory is as of step 20.
  TrainingPlan plan = gpt_s_plan(2);
  plan.cluster.gpus_per_node = 4;
  plan.parallel.dp = 8;
  plan.parallel.global_batch = 32;
  PolicyCase job("pec", pec_options({8, 1}, ExpertSelection::kSequential), job_of(plan));
  const SimDuration two = job.step(2);
  const JobResult result = job.run(steps(100), held(2, {lost(two * 25, 0), joined(two * 25, 0)}));
  double lost_steps = 0;  // of tokens of one expert
  for (int layer = 0; layer < 12; ++layer) {
    for (int expert = 0; expert < 4; ++expert) {
      const bool at_20 = expert == (2 + layer) % 8;
      const bool at_10 = expert == (1 + layer) % 8;
      lost_steps += at_20 ? 0 : at_10 ? 10 : 20;
    }
  }
  CHECK(metric(result, "plt") == doctest::Approx(lost_steps / (100.0 * 12 * 8)).epsilon(1e-12));
}

TEST_CASE("pec policy: a loss during a restart loses tokens, too") {
  PolicyCase job("pec", pec_options({8, 1}, ExpertSelection::kSequential));
  const SimDuration ten = job.step(10);
  const SimDuration fails = ten * 25;
  const auto plt = [&](const NodeEvents& then) { return metric(job.run(steps(100), held(10, then)), "plt"); };
  // With 10 ranks ranks 0 and 5 hold experts 0 and 4 (floor(expert * 10 / 8)): in storage as of the start.
  const NodeEvents one = {lost(fails, 0), joined(fails, 0)};
  const NodeEvents other = {lost(fails, 5), joined(fails, 5)};
  NodeEvents both = one;
  both.push_back(lost(fails + seconds{20}, 5));
  both.push_back(joined(fails + seconds{20}, 5));
  CHECK(plt(one) > 0);
  CHECK(plt(both) == doctest::Approx(plt(one) + plt(other)).epsilon(1e-12));
}

TEST_CASE("pec policy: an evicted node's experts come from storage, a planned restart loses none") {
  PolicyCase evicts(
      "pec", pec_options({8, 1}, ExpertSelection::kSequential, R"(, "slow_nodes": {"action": "evict"})"));
  const SimDuration ten = evicts.step(10);
  const JobResult evicted = evicts.run(steps(100), held(11, {slowed(ten * 24 + ten / 2, 0, 0.5)}));
  const JobResult failed = evicts.run(steps(100), held(11, {lost(ten * 25, 0)}));
  CHECK(metric(evicted, "plt") > 0);
  CHECK(metric(evicted, "plt") == metric(failed, "plt"));
  PolicyCase grows("pec",
                   R"({"restart": {"detect_s": 15, "startup_s": 60}, "absorb": "gathered", "gather_s": 0,
                              "checkpoint": {"interval_steps": 1000}})");
  const SimDuration eight = grows.step(8);
  const JobResult grown = grows.run(steps(10), held(8, {joined(eight / 2, 8), joined(eight / 2, 9)}));
  CHECK(grown.count(Cause::kRestart) == 1);
  CHECK(grown.steps_lost == 0);
  CHECK(metric(grown, "plt") == 0);
  // A whole checkpoint, copied to memory by 8 nodes at 10 GB/s each and written at 1 GB/s.
  const Bytes whole = module_bytes(grows.job().modules(), 14).total();
  CHECK(time_in(grown, kSave) == Bytes{whole.value / 8} / BytesPerSecond{10e9} + whole / BytesPerSecond{1e9});
}

TEST_CASE("pec policy: who waits has lost its memory") {
  PolicyCase job("pec", pec_options({8, 1}, ExpertSelection::kSequential));
  const SimDuration two = job.step(2);
  const NodeEvents events = held(2, {lost(two * 25, 0), joined(two * 25 + seconds{100}, 0)});
  const JobResult result = job.run(steps(100), events);
  // As two lost nodes: of the 8 experts one is as of step 20, one as of step 10, six as of the start.
  CHECK(metric(result, "plt") == doctest::Approx((10 + 6 * 20) / (100.0 * 8)).epsilon(1e-12));
}

TEST_CASE("pec policy: asynchronous checkpoints hide behind training") {
  PolicyCase pec("pec", R"({"checkpoint": {"interval_steps": 50}})");
  PolicyCase ds("ds", R"({"checkpoint": {"interval_steps": 50}})");
  const JobResult hidden = pec.run(steps(1000), held(10));
  CHECK(to_seconds(time_in(hidden, kSave)) <
        0.01 * to_seconds(time_in(ds.run(steps(1000), held(10)), kSave)));
}

TEST_CASE("pec policy: bad options name their place") {
  const JobPointer job = gpt_s();
  CHECK(refusal("pec", R"({"k_snapshot": 9})", *job) == "/k_snapshot: is 9, but a layer has only 8 experts");
  CHECK(refusal("pec", R"({"k_snapshot": 2, "k_persist": 3})", *job) ==
        "/k_persist: is 3, more than k_snapshot (2); only experts in memory can go to storage");
  CHECK(refusal("pec", R"({"k_persist": 0})", *job) ==
        "s.json /policies/pec/k_persist: must be an integer from 1 to 4096, not 0");
  CHECK(refusal("pec", R"({"selection": "load_aware"})", *job) ==
        "s.json /policies/pec/selection: must be one of \"sequential\", \"load-aware\", not \"load_aware\"; "
        "did you mean \"load-aware\"?");
}

}  // namespace goodput::testing
