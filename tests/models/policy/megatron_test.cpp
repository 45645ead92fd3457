// What jobs run today, part by part: without any of them the policy is `ds`.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "models/failure/failure_models.h"
#include "models/job/expert_parallel_group.h"
#include "models/job/placed_load.h"
#include "models/policy/expert_balance.h"
#include "models/policy/policy.h"
#include "sim/base/json.h"
#include "sim/base/random.h"
#include "tests/support/failure_case.h"
#include "tests/support/placement_case.h"
#include "tests/support/policy_case.h"
#include "tests/support/routing_case.h"

namespace goodput::testing {
namespace {

const std::string kNothing = R"("balance": "none", "memory_replicas": 0, "restart_in_place": false)";

// Of every kind, as numbers.
std::string counted(const JobResult& result) {
  std::string text = fmt::format("{} {} {} {} {} {}", result.end.time_since_epoch().count(), result.steps,
                                 result.samples, result.steps_lost, result.nodes_lost, result.saves_skipped);
  for (const SimDuration time : result.ledger.time) text += fmt::format(" {}", time.count());
  for (const NodeTime time : result.ledger.node_time) text += fmt::format(" {}", node_seconds(time));
  for (const std::int64_t count : result.courses) text += fmt::format(" {}", count);
  return text;
}

// From step `change` on another expert is the busy one.
JobRouting changing_routing(std::int64_t change) {
  return recorded_routing(
      {0, change}, {LayerLoads(12, {9, 1, 1, 1, 1, 1, 1, 1}), LayerLoads(12, {1, 1, 1, 1, 1, 1, 1, 9})});
}

}  // namespace

TEST_CASE("megatron policy: with every part off it is ds, whatever happens") {
  const std::string saves = R"("checkpoint": {"mode": "sync", "interval_steps": 20, "write_gb_per_s": 5})";
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "megatron is ds");
    const std::string common = fmt::format(R"({}, "ep": {}, "absorb": "{}")", saves, 1 << random.below(4),
                                           random.below(2) == 0 ? "at_restart" : "gathered");
    const bool is_balanced = random.below(2) == 0;
    const auto job = [&] {
      JobRouting routing =
          is_balanced ? JobRouting::balanced(12, 8) : recorded_routing({0}, {zipf_loads({12, 8, 1.0, 7})});
      return job_of(gpt_s_plan(10), std::move(routing), JobStart::kCold);
    };
    const auto failures =
        failures_from(R"({"model": "exponential", "nodes": 12, "mtbf_hours": 3, "repair_s": 900})");
    const auto run = [&](const std::string& policy, const std::string& options) {
      PolicyCase one(policy, "{" + options + "}", job());
      auto model = make_failure_model(failures, {}, seed, 0);
      REQUIRE(model);
      return one.run(until(std::chrono::hours{6}), **model);
    };
    const JobResult ds = run("ds", common);
    CHECK(ds.count(Cause::kRestart) > 0);
    CHECK(counted(run("megatron", common + ", " + kNothing + R"(, "dispatch": "padded")")) == counted(ds));
    const JobResult dropless = run("megatron", common + ", " + kNothing);
    // But for padding: balanced loads leave none, and skewed ones make every step of ds longer.
    if (is_balanced) CHECK(counted(dropless) == counted(ds));
    if (!is_balanced) CHECK(dropless.samples >= ds.samples);
  }
}

TEST_CASE("megatron policy: processes that stay up take swap_s, also those of hot spares") {
  const auto end_of = [](const std::string& more, NodeId spares) {
    PolicyCase job("megatron", round_options(R"("memory_gb_per_s": 1e12, "swap_s": 20)" + more));
    const SimDuration ten = job.step(10);
    const SimDuration nine = job.step(9);
    const JobResult result = job.run(steps(50), held(10 + spares, {lost(ten * 20, 3)}));
    CHECK(result.steps_lost == 0);  // the others have the checkpoint in memory
    return result.end - SimTime{ten * 20 + (spares > 0 ? ten : nine) * 30};
  };
  const SimDuration in_place = seconds{15 + 20};
  CHECK(end_of(R"(, "ep": 1)", 0) == in_place);
  CHECK(end_of(R"(, "ep": 1)", 1) == in_place);
  // A cold spare has to start up, and the others with it; those that go on alone do not.
  CHECK(end_of(R"(, "ep": 1, "spares": "cold")", 0) == in_place);
  CHECK(end_of(R"(, "ep": 1, "spares": "cold")", 1) == kRestart);
  CHECK(end_of(R"(, "ep": 1, "restart_in_place": false)", 0) == kRestart);
  CHECK(end_of(R"(, "ep": 1, "restart_in_place": false)", 1) == kRestart);
}

TEST_CASE("megatron policy: after the job shrank, memory has no copies until it trains again") {
  PolicyCase job("megatron", round_options(R"("ep": 1, "memory_gb_per_s": 1e12, "swap_s": 20)"));
  const SimDuration ten = job.step(10);
  const SimDuration nine = job.step(9);
  const SimDuration fails = ten * 25;
  CHECK(job.run(steps(50), held(10, {lost(fails, 3)})).steps_lost == 0);
  // During the restart, when nine nodes have parts that nobody copied: back to step 20 in storage.
  CHECK(job.run(steps(50), held(10, {lost(fails, 3), lost(fails + seconds{30}, 6)})).steps_lost == 5);
  CHECK(job.run(steps(50), held(10, {lost(fails, 3), lost(fails + seconds{35} + nine, 6)})).steps_lost == 0);
}

TEST_CASE(
    "megatron policy: without copies in memory it comes back from storage, and waits if nodes says so") {
  PolicyCase storage("megatron", round_options(R"("memory_replicas": 0, "swap_s": 20)"));
  const SimDuration ten = storage.step(10);
  CHECK(storage.run(steps(50), held(11, {lost(ten * 25, 3)})).steps_lost == 5);
  PolicyCase fixed("megatron", round_options(R"("nodes": 10, "memory_gb_per_s": 1e12)"));
  const JobResult waits =
      fixed.run(steps(50), held(10, {lost(ten * 25, 3), joined(ten * 25 + seconds{100}, 3)}));
  CHECK(waits.waited == seconds{100});
  CHECK(waits.end == at(ten * 50 + seconds{100} + seconds{60}));  // who was waited for starts up
}

TEST_CASE("megatron policy: a dense job does without the parts that are about experts") {
  TrainingPlan plan = gpt_s_plan(10);
  plan.model.moe.reset();
  plan.parallel.ep = 1;
  PolicyCase job("megatron", R"({"restart_in_place": true})", job_of(plan));
  CHECK(job.run(steps(50), held(10)).end == at(job.step(10) * 50));
  CHECK(refusal("megatron", R"({"ep": 3})", *gpt_s()) ==
        "/ep: is 3, which does not divide the model's 8 experts");
}

TEST_CASE("expert balance: with replicas for the busy experts GPUs get about as much") {
  const JobPointer job = job_of(
      gpt_s_plan(8), recorded_routing({0}, {LayerLoads(12, {9, 1, 1, 1, 1, 1, 1, 1})}), JobStart::kRunning);
  // 16 tokens over 4 GPUs of 2 + r slots; the busy expert has 9 of them. Without redundant slots its GPU has
  // 9 + 1; with one, 12 slots: 5 replicas of 9 / 5 and seven of 1, at the least 1.8 + 1 + 1 on the fullest.
  const auto busiest = [&](std::int32_t redundant) {
    const ExpertBalance balance(*job, {.gpus = 4, .redundant = redundant});
    const moe::ExpertHosts hosts = (*balance.at(0).hosts(8))[0];
    const std::vector<std::int64_t> tokens = {9000, 1000, 1000, 1000, 1000, 1000, 1000, 1000};
    std::int64_t most = 0;
    const std::vector<GpuLoad> loads = *placed_loads(hosts, 1, tokens);
    for (const GpuLoad& load : loads) most = std::max(most, load.computed);
    return most;
  };
  CHECK(busiest(0) == 10000);
  CHECK(busiest(1) == 1800 + 1800 + 1000);  // 5 + 7 in four rows of three: one has two of the five
}

TEST_CASE("expert balance: with as many groups of experts as nodes, every group stays on its node") {
  const JobPointer job = job_of(
      gpt_s_plan(8), recorded_routing({0}, {LayerLoads(12, {1, 1, 1, 1, 1, 9, 1, 1})}), JobStart::kRunning);
  // Groups of two experts on four nodes of one GPU with three slots. The group of 4 and 5 is the heaviest, so
  // it is on node 0, with a second replica of the busy expert; the others follow in order, with a second
  // replica of their last expert.
  const ExpertBalance balance(*job, {.gpus = 4, .redundant = 1, .expert_groups = 4});
  CHECK(balance.check_groups());
  for (const ExpertPlacement& layer : balance.at(0).layers)
    CHECK(layer.expert_at == std::vector<std::int32_t>{4, 5, 5, 0, 1, 1, 2, 3, 3, 6, 7, 7});
  // Each of the 4 GPUs of the 12 layers has one slot too many.
  CHECK(
      balance.warnings() ==
      std::vector<std::string>{"when training starts, 48 of 144 expert slots of a group repeat an expert "
                               "that the same GPU already "
                               "holds, which wastes memory; the first is expert 5 on GPU 0 in MoE layer 0"});
  // Two groups of four experts on two GPUs with five slots: one spare slot each.
  const ExpertBalance two(*job, {.gpus = 2, .redundant = 1, .expert_groups = 2});
  CHECK(two.at(0).layers[0].expert_at == std::vector<std::int32_t>{4, 5, 5, 6, 7, 0, 1, 2, 3, 3});
}

TEST_CASE("expert balance: groups of experts that change nothing are said, and so is why") {
  const auto job_on = [](std::int32_t gpus_per_node) {
    TrainingPlan plan = gpt_s_plan(8);
    plan.cluster.gpus_per_node = gpus_per_node;
    plan.parallel.dp = 8 * gpus_per_node;
    plan.parallel.global_batch = 4 * std::int64_t{plan.parallel.dp};
    return job_of(plan);
  };
  const auto said = [](const JobPointer& job, std::int32_t gpus, std::int32_t groups) {
    const ExpertBalance balance(*job, {.gpus = gpus, .redundant = 1, .expert_groups = groups});
    return balance.warnings();
  };
  using Warnings = std::vector<std::string>;
  const JobPointer alone = job_on(1);
  CHECK(said(alone, 4, 1).empty());
  CHECK(said(alone, 4, 2) ==
        Warnings{"expert_groups has no effect: 2 groups do not divide evenly among the 4 nodes of ep 4"});
  const JobPointer together = job_on(4);
  CHECK(said(together, 4, 2) == Warnings{"expert_groups has no effect: the 4 GPUs of ep share a node"});
  CHECK(said(together, 8, 2).empty());
  const ExpertBalance global(*alone, {.gpus = 4, .redundant = 1, .expert_groups = 2});
  CHECK(global.at(0).layers == ExpertBalance(*alone, {.gpus = 4, .redundant = 1}).at(0).layers);
}

TEST_CASE("megatron policy: groups of experts that do not divide them are refused, and ep 1 has none") {
  const JobPointer job = gpt_s(8);
  CHECK(
      refusal("megatron", R"({"ep": 4, "expert_groups": 3})", *job) ==
      "/expert_groups: the number of groups must be a divisor of 8 (the number of experts per layer), not 3");
  const auto warnings = [](const std::string& options) {
    return PolicyCase("megatron", round_options(options), gpt_s(8)).prepared().warnings();
  };
  CHECK(warnings(R"("ep": 1, "expert_groups": 4)") ==
        std::vector<std::string>{"expert_groups has no effect: with ep 1, every GPU holds all experts"});
  CHECK(warnings(R"("ep": 4, "expert_groups": 8)").size() == 1);  // slots that repeat an expert
  CHECK(warnings(R"("ep": 4)").empty());
}

TEST_CASE(
    "megatron policy: groups of experts are written if there are several, so that other runs keep their "
    "hash") {
  const auto policies = recovery_policies();
  const auto megatron = std::ranges::find(policies, "megatron", &PolicyInfo::name);
  REQUIRE(megatron != policies.end());
  const std::unique_ptr<PolicySetup> setup = megatron->make();
  const config::Fields fields = setup->fields({});
  const auto groups = std::ranges::find(fields, "expert_groups", &config::Field::key);
  REQUIRE(groups != fields.end());
  for (const std::int32_t count : {1, 4, 1}) {
    config::Place place;
    REQUIRE(groups->value.read(count, place));
    const OrderedJson written = config::write(fields);
    CHECK(written.contains("expert_groups") == (count > 1));
    if (count > 1) CHECK(written["expert_groups"] == count);
  }
}

TEST_CASE("expert balance: experts move at the first multiple from which loads are others, and only then") {
  const JobPointer job = job_of(gpt_s_plan(8), changing_routing(130), JobStart::kRunning);
  const ExpertBalance balance(*job,
                              {.gpus = 4, .redundant = 1, .every_steps = 50, .expert = Bytes{1'000'000'000}});
  for (const std::int64_t step : {0, 49, 50, 129, 130, 149}) CHECK(balance.next(step) == 150);
  for (const std::int64_t step : {150, 151, 100'000}) CHECK(balance.next(step) == kNoStep);
  CHECK(balance.at(149).layers == balance.at(0).layers);
  CHECK(balance.at(150).layers != balance.at(0).layers);
  CHECK(balance.time_at(150) > seconds{2});  // transfers are set up, and take a while at 0.7 GB/s
  const ExpertBalance never(*job, {.gpus = 4, .redundant = 1, .every_steps = 0});
  CHECK(never.next(0) == kNoStep);
}

TEST_CASE("megatron policy: moving experts takes its time once, and steps are faster for it") {
  const auto job_with = [](const std::string& more) {
    return PolicyCase("megatron", round_options(R"("ep": 4, "swap_s": 20)" + more),
                      job_of(gpt_s_plan(8), changing_routing(130), JobStart::kRunning));
  };
  PolicyCase moving = job_with(R"(, "rebalance_steps": 50)");
  PolicyCase staying = job_with(R"(, "rebalance_steps": 0)");
  const JobResult moved = moving.run(steps(1000), held(8));
  const JobResult stayed = staying.run(steps(1000), held(8));
  CHECK(moved.count(Cause::kRebalancing) == 1);
  CHECK(stayed.count(Cause::kRebalancing) == 0);
  const SimDuration first = moving.run(steps(1), held(8)).end - SimTime{};
  const SimDuration late = stayed.end - staying.run(steps(999), held(8)).end;
  CHECK(late > first);
  // By symmetry a step after the move takes as long as one before the change.
  CHECK(moved.end == at(first * 980 + late * 20 + time_in(moved, TimeBucket::kExpertRebalancing)));
}

}  // namespace goodput::testing
