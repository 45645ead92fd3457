// Partial experts checkpoints: what they cost in time is tested with goodput checkpoint, what they lose in
// tokens must be what models/checkpoint/lost_tokens.h says for the same faults.
#include <doctest/doctest.h>
#include <fmt/format.h>

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
  std::int64_t interval = 10;  // of checkpoints
  std::int64_t steps_lost = 0;
  SimDuration now{};
  std::int64_t step = 0;

  // In the middle of the step after `fault.step`.
  void add(const CheckpointFault& fault, SimDuration ten) {
    now += ten * (fault.step - step) + ten / 2;
    const std::vector<NodeId> nodes(fault.ranks->begin(), fault.ranks->end());
    for (const NodeId node : nodes) events.push_back(lost(now, node));
    for (const NodeId node : nodes) events.push_back(joined(now, node));
    now += kRestart;
    step = fault.step / interval * interval;
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
    std::optional<double> limit;
    std::string dynamic;
    if (random.below(3) == 0) {
      limit = static_cast<double>(random.below(10)) / 100;
      dynamic = fmt::format(R"(, "dynamic_k": true, "plt_limit": {})", *limit);
    }
    PolicyCase job("pec", pec_options(k, selection, dynamic));
    const SimDuration ten = job.step(10);
    ReplacedNodes nodes;
    std::int64_t fault_at = 0;
    while (true) {
      fault_at += static_cast<std::int64_t>(1 + random.below(60));
      if (fault_at >= 390) break;
      FailedRanks ranks(std::in_place);
      for (std::int32_t rank = 0; rank < 10; ++rank) {
        if (random.below(4) == 0) ranks->push_back(rank);
      }
      if (ranks->empty()) ranks->push_back(static_cast<std::int32_t>(random.below(10)));
      nodes.add({fault_at, ranks}, ten);
    }
    const JobResult result = job.run(steps(400), nodes.events);
    REQUIRE(result.finished);
    CHECK(result.steps_lost == nodes.steps_lost);
    const PecSchedule schedule{k, selection, 10, 10, 400, SimDuration{1}, {}, limit};
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

TEST_CASE("pec policy: a spare has no copies until it trains") {
  // Node 0 fails, spare 10 takes over, and 20 s later, in the restart, node 5 fails: both nodes' experts come
  // from storage, as if they had failed at once. If the spare fails instead, nothing more is lost.
  PolicyCase job("pec", pec_options({8, 1}, ExpertSelection::kSequential));
  const SimDuration fails = job.step(10) * 25;
  const auto plt = [&](const NodeEvents& then) { return metric(job.run(steps(100), held(12, then)), "plt"); };
  CHECK(plt({lost(fails, 0)}) > 0);
  CHECK(plt({lost(fails, 0), lost(fails, 5)}) > plt({lost(fails, 0)}));
  CHECK(plt({lost(fails, 0), lost(fails + seconds{20}, 5)}) == plt({lost(fails, 0), lost(fails, 5)}));
  CHECK(plt({lost(fails, 0), lost(fails + seconds{20}, 10)}) == plt({lost(fails, 0)}));
}

TEST_CASE("pec policy: a planned restart that is cut short goes back to what the old nodes hold") {
  // 8 nodes save a whole checkpoint to grow to 10, in 7.3 s at 1 GB/s. A new node that fails meanwhile takes
  // nothing with it; node 4 takes the experts that it holds.
  PolicyCase job("pec", R"({"restart": {"detect_s": 15, "startup_s": 60}, "absorb": "gathered", "gather_s": 0,
                            "k_snapshot": 8, "checkpoint": {"interval_steps": 10}})");
  const SimDuration grows = job.step(8) * 25;
  const auto plt = [&](NodeId fails) {
    NodeEvents events = held(8, {joined(grows, 8), joined(grows, 9)});
    events.push_back(lost(grows + job.step(8) + seconds{2}, fails));
    return metric(job.run(steps(100), events), "plt");
  };
  CHECK(plt(8) == 0);
  CHECK(plt(4) > 0);
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

TEST_CASE("pec policy: nodes that wait keep their memory, and nodes that are lost meanwhile do not") {
  // Two nodes: the first has experts 0 to 3, the second 4 to 7. In storage, 4 experts of a layer
  // are as of the start or step 10 or 20 (see above); in memory all are as of step 20.
  PolicyCase job("pec", pec_options({8, 1}, ExpertSelection::kSequential));
  const SimDuration fails = job.step(2) * 25;
  const auto plt = [&](const NodeEvents& then) { return metric(job.run(steps(100), held(2, then)), "plt"); };
  const NodeEvents first = {lost(fails, 0), joined(fails + seconds{100}, 0)};
  const NodeEvents at_once = {lost(fails, 0), joined(fails, 0)};
  const NodeEvents both = {lost(fails, 0), lost(fails + seconds{50}, 1), joined(fails + seconds{100}, 0),
                           joined(fails + seconds{100}, 1)};
  CHECK(plt(first) > 0);
  CHECK(plt(first) == plt(at_once));
  // Of the 8 experts one is as of step 20, one as of step 10, six as of the start.
  CHECK(plt(both) == doctest::Approx((10 + 6 * 20) / (100.0 * 8)).epsilon(1e-12));
}

TEST_CASE("pec policy: survivors read their experts from memory, and all else comes from storage") {
  // GPT-S: 12 layers, 14 bytes per parameter; 8 experts on 10 nodes. Node 0 has expert 0, node 1 has expert 1
  // (floor(e * 10 / 8)), and node 4 has none.
  PolicyCase job("pec", R"({"restart": {"detect_s": 15, "startup_s": 60},
                            "checkpoint": {"interval_steps": 10, "mode": "sync", "write_gb_per_s": 1e12,
                                           "read_gb_per_s": 1, "snapshot_gb_per_s": 1e12}})");
  const ModuleBytes bytes = module_bytes(job.job().modules(), 14);
  const SimDuration fails = job.step(10) * 25;
  const auto restore = [&](const std::vector<NodeId>& nodes) {
    NodeEvents events;
    for (const NodeId node : nodes) events.push_back(lost(fails, node));
    for (const NodeId node : nodes) events.push_back(joined(fails, node));
    return time_in(job.run(steps(100), held(10, events)), TimeBucket::kCheckpointRestore);
  };
  const BytesPerSecond read{1e9};
  CHECK(restore({4}) == bytes.dense_total() / read);
  CHECK(restore({0}) == bytes.partial(1) / read);
  CHECK(restore({0, 1, 4}) == bytes.partial(2) / read);
  CHECK(restore({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) == bytes.total() / read);
}

TEST_CASE("pec policy: with Dynamic-K a job of 10,000 steps with a fault every 520 loses 5 % of its tokens") {
  // One of 8 experts every 50 steps: a fault of all nodes loses 3.5 intervals, 1.75 %. After two, a third
  // would make 5.25 %, so K becomes 2 (0.75 %), and after two more 8.
  for (const bool is_dynamic : {false, true}) {
    PolicyCase job("pec", std::string(R"({"restart": {"detect_s": 15, "startup_s": 60},
             "checkpoint": {"interval_steps": 50, "mode": "sync", "write_gb_per_s": 1e12,
                            "read_gb_per_s": 1e12, "snapshot_gb_per_s": 1e12}, "dynamic_k": )") +
                              (is_dynamic ? "true}" : "false}"));
    const SimDuration ten = job.step(10);
    ReplacedNodes nodes;
    nodes.interval = 50;
    for (std::int64_t step = 520; step <= 10'000; step += 520)
      nodes.add({step, FailedRanks{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}}, ten);
    const JobResult result = job.run(steps(10'000), nodes.events);
    REQUIRE(result.finished);
    CHECK(metric(result, "plt") == doctest::Approx(is_dynamic ? 0.05 : 19 * 0.0175).epsilon(1e-9));
    if (is_dynamic) CHECK(metric(result, "final_k_persist") == 8);
  }
}

TEST_CASE("pec policy: Dynamic-K works towards the end of a run by its pace so far") {
  // As above, but the job runs until a time: with 75 s of every restart it trains some steps fewer, and PLT
  // is of the steps that it trains.
  PolicyCase job("pec", R"({"restart": {"detect_s": 15, "startup_s": 60},
             "checkpoint": {"interval_steps": 50, "mode": "sync", "write_gb_per_s": 1e12,
                            "read_gb_per_s": 1e12, "snapshot_gb_per_s": 1e12}, "dynamic_k": true})");
  const SimDuration ten = job.step(10);
  ReplacedNodes nodes;
  nodes.interval = 50;
  for (std::int64_t step = 520; step <= 10'000; step += 520)
    nodes.add({step, FailedRanks{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}}, ten);
  const JobResult result = job.run(until(ten * 9'000), nodes.events);
  const double plt = metric(result, "plt");
  CHECK(result.steps < 9'000);
  CHECK(plt > 0.03);
  CHECK(plt <= 0.05 + 3.5 * 50 / static_cast<double>(result.steps));
}

TEST_CASE("pec policy: Dynamic-K counts the samples that replicas train, and slow storage") {
  // 20 nodes train twice the samples of the plan's ten in a step, so that a goal of samples takes half the
  // steps. With storage at 20 MB/s, K = 2 takes about twice as long as K = 1, and so does its interval.
  for (const bool is_slow : {false, true}) {
    CAPTURE(is_slow);
    const std::string storage =
        is_slow ? R"("mode": "async", "write_gb_per_s": 0.02)" : R"("mode": "sync", "write_gb_per_s": 1e12)";
    PolicyCase job("pec",
                   R"({"restart": {"detect_s": 15, "startup_s": 60}, "dynamic_k": true,
                       "checkpoint": {"interval_steps": 10, "read_gb_per_s": 1e12, )" +
                       storage + R"(, "snapshot_gb_per_s": 1e12}})",
                   job_of(gpt_s_plan(10), JobStart::kRunning));
    const std::int32_t nodes = is_slow ? 10 : 20;
    const SimDuration step = job.step(nodes);
    NodeEvents events = held(nodes);
    const SimDuration apart = step * (is_slow ? 4000 : 120);
    for (int i = 1; i < 30; ++i) {
      events.push_back(lost(apart * i, i % nodes));
      events.push_back(joined(apart * i, i % nodes));
    }
    JobGoal goal;
    goal.samples = std::int64_t{is_slow ? 60'000 : 2'000} * 4 * nodes;
    const JobResult result = job.run(goal, events);
    REQUIRE(result.finished);
    CHECK(metric(result, "plt") > 0);
    CHECK(metric(result, "plt") <= 0.051);
  }
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
