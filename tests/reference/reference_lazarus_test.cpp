// release-too: thousands of jobs, exact to the nanosecond.
// The policy lazarus on the job engine against the slow references of both: on plans with and without
// pipeline stages, and nodes that are lost and come back at random, one by one and in bursts, with more of
// them than the job uses.
#include "tests/reference/reference_lazarus.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/schedule/schedule.h"
#include "sim/base/random.h"
#include "tests/reference/reference_job.h"
#include "tests/reference/same_results.h"
#include "tests/support/policy_case.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_policy_options.h"
#include "tests/support/routing_case.h"
#include "tests/support/scripted_failures.h"

namespace goodput::testing {
namespace {

using reference::LazarusJob;
using reference::LazarusTerms;
using reference::ReferenceLazarus;

constexpr int kHistories = 8;  // of each job: its step times are what takes long

std::int32_t up_to(RandomStream& random, std::int32_t least, std::int32_t most) {
  return least + static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

// Which layers have experts: all, or some, so that a stage may have none. An explicit split may be uneven.
void draw_layers(RandomStream& random, TrainingPlan& plan, std::int32_t positions) {
  plan.model.layers = positions * up_to(random, 1, std::max(1, 6 / positions));
  if (random.below(3) == 0) plan.model.mtp_layers = 1;
  if (random.below(3) == 0) {
    plan.model.moe->first_layer = up_to(random, 0, plan.model.layers - 1);
    plan.model.moe->layer_step = up_to(random, 1, 3);
  }
  if (plan.parallel.schedule != "1f1b" || random.below(2) == 0) return;
  plan.parallel.layers_per_stage.assign(static_cast<std::size_t>(positions), 1);
  for (std::int32_t more = plan.model.layers - positions; more > 0; --more)
    ++plan.parallel.layers_per_stage[random.below(static_cast<std::uint64_t>(positions))];
}

TrainingPlan random_stage_plan(RandomStream& random, std::int32_t stages) {
  TrainingPlan plan = gpt_s_plan(1);
  ParallelPlan& parallel = plan.parallel;
  parallel.pp = stages;
  parallel.tp = up_to(random, 1, 2);
  parallel.sequence_parallel = parallel.tp > 1;
  parallel.ep = 1;
  if (stages > 1) {
    const std::vector<std::string> schedules = {"1f1b", "1f1b", "interleaved", "zb-h1", "zb-v"};
    parallel.schedule = schedules[random.below(schedules.size())];
  }
  if (parallel.schedule == "interleaved") parallel.vpp = 2;
  const auto schedule = find_schedule(parallel.schedule);
  REQUIRE(schedule);
  draw_layers(random, plan, (*schedule)->positions({parallel.pp, parallel.vpp}));
  const std::int32_t gpus = up_to(random, 1, 4);
  plan.cluster.gpus_per_node = gpus;
  const std::int32_t unit = std::lcm(parallel.tp, gpus) / gpus;  // nodes
  const std::int32_t nodes_of_stage = unit * up_to(random, 1, std::max(3, 12 / stages));
  plan.cluster.nodes = stages * nodes_of_stage;
  parallel.dp = nodes_of_stage * gpus / parallel.tp;
  parallel.micro_batch = 1;
  const std::int32_t micro_batches = parallel.vpp > 1 ? stages : up_to(random, 1, 4);
  parallel.global_batch = std::int64_t{parallel.dp} * micro_batches;
  return plan;
}

// Balanced, or with up to four rows, some of them equal.
JobRouting random_windows(RandomStream& random, const ModelShape& model) {
  std::int32_t layers = 0;
  for (std::int32_t layer = 0; layer < model.layers; ++layer) layers += model.is_moe_layer(layer) ? 1 : 0;
  if (random.below(2) == 0) return JobRouting::balanced(layers, model.moe->experts);
  std::vector<std::int64_t> iterations;
  std::vector<LayerLoads> rows;
  for (std::int32_t row = up_to(random, 2, 4); row > 0; --row) {
    iterations.push_back(iterations.empty() ? 0 : iterations.back() + up_to(random, 1, 60));
    if (!rows.empty() && random.below(4) == 0) {
      rows.push_back(rows[random.below(rows.size())]);
      continue;
    }
    rows.push_back(zipf_loads({static_cast<std::size_t>(layers), static_cast<std::size_t>(model.moe->experts),
                               random.uniform(0, 1.5), random.below(1000)}));
    if (random.below(3) == 0) rows.back() = LayerLoads(rows.back().size(), rows.back()[0]);  // all alike
  }
  const AfterEnd after_end[] = {AfterEnd::kHold, AfterEnd::kLoop, AfterEnd::kContinue};
  return recorded_routing(std::move(iterations), rows, after_end[random.below(3)]);
}

JobPointer random_lazarus_job(RandomStream& random, std::int32_t stages) {
  JobTerms terms;
  terms.plan = random_stage_plan(random, stages);
  terms.most_nodes = terms.plan.cluster.nodes + up_to(random, 0, stages + 2);
  terms.batch = random.below(2) == 0 ? BatchRule::kFixed : BatchRule::kPerReplica;
  terms.start = random.below(2) == 0 ? JobStart::kCold : JobStart::kRunning;
  JobRouting routing = random_windows(random, terms.plan.model);
  auto job = JobModel::make(std::move(terms), std::move(routing));
  REQUIRE_MESSAGE(job, (job ? "" : job.error().message()));
  return *std::move(job);
}

// What decides how experts are placed and how long steps take.
LazarusTerms random_placement_terms(RandomStream& random, const JobModel& job) {
  LazarusTerms terms;
  const PlacementRule rules[] = {PlacementRule::kMro, PlacementRule::kMro, PlacementRule::kSpread,
                                 PlacementRule::kCompact, PlacementRule::kEplb};
  terms.placement.rule = rules[random.below(5)];
  const Allocation allocations[] = {Allocation::kEq1, Allocation::kEplb, Allocation::kBalanced};
  terms.placement.allocation = allocations[random.below(3)];
  terms.placement.min_replicas = up_to(random, 1, 3);
  if (random.below(2) == 0) terms.step_overhead = SimDuration{up_to(random, 0, 1'000'000)};
  terms.slots_per_gpu = up_to(random, 1, 6);
  while (LazarusJob(job, terms).used(job.most_nodes()) == 0) ++terms.slots_per_gpu;
  return terms;
}

// The options that say so as JSON, with others at random, which it adds to `terms`.
class LazarusOptions : public RandomPolicyOptions {
 public:
  LazarusOptions(RandomStream& random, const LazarusJob& nodes, LazarusTerms& terms, SimDuration step)
      : RandomPolicyOptions(random, step), random_(random), nodes_(nodes) {
    add("slots_per_gpu", fmt::format("{}", terms.slots_per_gpu));
    add("plan", fmt::format(R"("{}")", kPlacementRuleNames[static_cast<std::size_t>(terms.placement.rule)]));
    add("allocation",
        fmt::format(R"("{}")", kAllocationNames[static_cast<std::size_t>(terms.placement.allocation)]));
    add("min_replicas", fmt::format("{}", terms.placement.min_replicas));
    add("step_overhead_s", seconds_of(terms.step_overhead));
    terms.rebalance_steps = up_to(random_, 0, 40);
    add("rebalance_steps", fmt::format("{}", terms.rebalance_steps));
    terms.gather = time("gather_s", 40);
    add_migration(terms.migration);
    open("restart");
    terms.restart_detect = time("detect_s", 12);
    terms.startup = time("startup_s", 20);
    close();
    add_checkpoint(terms);
  }

 private:
  TimeRange time_range(const std::string& key, std::uint64_t most_steps) {
    TimeRange range{duration(most_steps), {}};
    range.most = chance() ? range.least : range.least + duration(most_steps);
    add(key, range.is_fixed() ? seconds_of(range.least)
                              : fmt::format(R"({{"uniform": [{}, {}]}})", seconds_of(range.least),
                                            seconds_of(range.most)));
    return range;
  }
  void add_migration(ReconfigurationTiming& migration) {
    open("migration");
    migration.detect = time_range("detect_s", 10);
    migration.regroup = time_range("regroup_s", 5);
    migration.moves.plan = time("plan_s", 1);
    migration.moves.transfer_setup = time("transfer_setup_s", 3);
    migration.moves.node = rate("node_gb_per_s", Bytes{10 * nodes_.expert().value}, 6);
    migration.overlap = chance();
    add("overlap", migration.overlap ? "true" : "false");
    migration.dense_state = chance();
    add("dense_state", migration.dense_state ? "true" : "false");
    close();
  }
  void add_checkpoint(LazarusTerms& terms) {
    open("checkpoint");
    terms.interval = up_to(random_, 0, 19);
    add("interval_steps", fmt::format("{}", terms.interval));
    terms.saves_beside_training = chance();
    add("mode", terms.saves_beside_training ? R"("async")" : R"("sync")");
    terms.write = rate("write_gb_per_s", nodes_.checkpoint(), 6);
    terms.read = rate("read_gb_per_s", nodes_.checkpoint(), 6);
    terms.snapshot = rate("snapshot_gb_per_s", nodes_.checkpoint(), 6);
    terms.storage_share = std::int64_t{1} << random_.below(4);
    add("storage_duty", fmt::format("{}", 1.0 / static_cast<double>(terms.storage_share)));
    close();
  }

  RandomStream& random_;
  const LazarusJob& nodes_;
};

void check_histories(std::uint64_t seed, std::int32_t stages) {
  RandomStream random(seed, "lazarus reference");
  JobPointer made = random_lazarus_job(random, stages);
  const JobModel& job = *made;
  LazarusTerms terms = random_placement_terms(random, job);
  const LazarusJob nodes(job, terms);
  const std::int32_t most = nodes.used(job.most_nodes());
  const LazarusOptions options(random, nodes, terms, nodes.step(nodes.narrowest(most), 0, 0, 1).step);
  CAPTURE(options.json());
  PolicyCase production("lazarus", options.json(), std::move(made));
  for (int history = 0; history < kHistories; ++history) {
    CAPTURE(history);
    const NodeId ever = job.most_nodes() + up_to(random, 0, 3);
    const NodeEvents events = random_node_history(random, ever, options, random.below(3) == 0 ? 0.05 : 0);
    const JobGoal goal = random_policy_goal(random, options.step());
    const RunKey run{seed, static_cast<std::uint64_t>(history)};
    ScriptedFailures failures(events);
    const std::unique_ptr<RecoveryPolicy> policy = production.prepared().start_run(run);
    JobResult got = run_job(goal, {}, failures, *policy);
    ScriptedFailures same_failures(events);
    ReferenceLazarus reference(job, terms, nodes, run);
    JobResult want = reference::run_job_step_by_step(goal, {}, same_failures, reference);
    // Decisions to go on as before: the reference makes more of them.
    got.courses[static_cast<std::size_t>(Cause::kNone)] = 0;
    want.courses[static_cast<std::size_t>(Cause::kNone)] = 0;
    check_same(got, want);
  }
}

}  // namespace

TEST_CASE("lazarus policy: agrees with the slow reference on jobs with pipeline stages at random" *
          doctest::test_suite("slow")) {
  const std::int32_t stages[] = {2, 3, 4, 6};
  for (std::uint64_t seed = 1; seed <= cases(600); ++seed) {
    CAPTURE(seed);
    check_histories(seed, stages[seed % 4]);
  }
}

TEST_CASE("lazarus policy: agrees with the slow reference on jobs without pipeline stages at random") {
  for (std::uint64_t seed = 1; seed <= cases(240); ++seed) {
    CAPTURE(seed);
    check_histories(seed, 1);
  }
}

}  // namespace goodput::testing
