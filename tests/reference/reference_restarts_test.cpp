// release-too: thousands of jobs, exact to the nanosecond.
// Policies that restart from checkpoints, on the job engine, against the slow references of both: on nodes
// that are lost and come back at random, one by one and in bursts, with more of them than may train.
#include "tests/reference/reference_restarts.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/checkpoint/checkpointed_run.h"
#include "sim/base/random.h"
#include "tests/reference/reference_job.h"
#include "tests/reference/same_results.h"
#include "tests/support/policy_case.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_policy_options.h"
#include "tests/support/scripted_failures.h"

namespace goodput::testing {
namespace {

using reference::ReferenceRestarts;
using reference::RestartRules;

constexpr std::int64_t kMicroBatch = 4;  // of the plan

struct PolicyTraits {
  const char* name;
  bool is_dense;
  bool is_fixed = false;
  bool has_swap = false;
  bool has_memory = false;
  bool regroups = false;
  bool saves_parts = false;
  double moe_speedup = 1;
  bool has_no_balance = false;
};

struct PlannedJob {
  JobPointer job{};
  bool is_fixed_batch = false;
  std::int32_t nodes = 0;  // that train at most
  std::int32_t ever = 0;   // that there can be
  std::int32_t unit = 1;
};

// GPT-S on nodes of one GPU: with experts in groups of 2 or 4 GPUs; without, in replicas of 1 or 2 stages.
PlannedJob random_planned_job(RandomStream& random, const PolicyTraits& traits) {
  PlannedJob planned;
  planned.unit = traits.is_dense ? 1 + static_cast<std::int32_t>(random.below(2))
                                 : 2 << static_cast<std::int32_t>(random.below(2));
  planned.nodes = planned.unit * (1 + static_cast<std::int32_t>(random.below(traits.is_dense ? 5 : 3)));
  planned.is_fixed_batch = random.below(2) == 0;
  TrainingPlan plan = gpt_s_plan(planned.nodes);
  if (traits.is_dense) {
    plan.model.moe.reset();
    plan.parallel.ep = 1;
    plan.parallel.pp = planned.unit;
    plan.parallel.dp = planned.nodes / planned.unit;
  } else {
    plan.parallel.ep = planned.unit;
  }
  const JobStart start = random.below(2) == 0 ? JobStart::kCold : JobStart::kRunning;
  const std::int32_t layers = traits.is_dense ? 0 : plan.model.layers;
  const std::int32_t experts = traits.is_dense ? 1 : plan.model.moe->experts;
  planned.ever = planned.nodes + static_cast<std::int32_t>(random.below(5));
  JobTerms terms;
  terms.plan = std::move(plan);
  terms.most_nodes = planned.ever;
  terms.max_training_nodes = planned.nodes;
  terms.batch = planned.is_fixed_batch ? BatchRule::kFixed : BatchRule::kPerReplica;
  terms.start = start;
  auto job = JobModel::make(std::move(terms), JobRouting::balanced(layers, experts));
  REQUIRE(job);
  planned.job = *std::move(job);
  return planned;
}

StepTime step_on(const PlannedJob& planned, std::int32_t nodes, const PolicyTraits& traits) {
  StepSettings settings;
  settings.moe_speedup = traits.moe_speedup;
  if (std::string(traits.name) == "megatron") settings.dispatch = ExpertDispatch::kDropless;
  const JobModel& job = *planned.job;
  const auto step =
      traits.is_dense ? job.steps().dense(nodes, settings)
                      : job.steps().expert_parallel(nodes, {planned.unit}, job.routing().loads(0), settings);
  REQUIRE(step);
  return *step;
}

RestartRules training_rules(const PlannedJob& planned, const PolicyTraits& traits) {
  RestartRules rules;
  rules.max_training_nodes = planned.nodes;
  rules.nodes_of_unit = planned.unit;
  const std::int64_t batch = planned.job->plan().parallel.global_batch;
  for (std::int32_t nodes = planned.unit; nodes <= planned.nodes; nodes += planned.unit) {
    const std::int64_t replica_batch = kMicroBatch * (traits.is_dense ? nodes / planned.unit : nodes);
    if (planned.is_fixed_batch) rules.micro_batches[nodes] = (batch + replica_batch - 1) / replica_batch;
  }
  for (std::int32_t nodes = planned.unit; nodes <= planned.nodes; nodes += planned.unit)
    rules.steps[nodes] = step_on(planned, nodes, traits);
  return rules;
}

// Options of a policy as JSON, and what the reference is told.
class RandomOptions : public RandomPolicyOptions {
 public:
  // `rules`: training_rules().
  RandomOptions(RandomStream& random, const PolicyTraits& traits, const PlannedJob& planned,
                const RestartRules& rules)
      : RandomPolicyOptions(random, rules.steps.rbegin()->second.step),
        random_(random),
        traits_(traits),
        rules_(rules) {
    rules_.starts_cold = planned.job->start() == JobStart::kCold;
    const ModuleBytes bytes = module_bytes(planned.job->modules(), 14);
    rules_.bytes = bytes.total();
    rules_.shard = Bytes{bytes.one_expert().value * bytes.experts / planned.unit};
    add_restart();
    add_checkpoint();
    if (traits.is_fixed) add_fixed_nodes();
    if (!traits.is_fixed && chance()) add("absorb", R"("gathered")"), rules_.gather = time("gather_s", 40);
    if (traits.has_swap) add_swap();
    if (traits.has_memory) add_memory();
    if (traits.regroups) add_migration();
    if (traits.saves_parts) add_partial_saves(*planned.job);
    if (traits.has_no_balance) add("balance", R"("none")");
    if (traits.moe_speedup != 1) add("moe_speedup", fmt::format("{}", traits.moe_speedup));
  }

  [[nodiscard]] const RestartRules& rules() const { return rules_; }

 private:
  void add_restart() {
    open("restart");
    rules_.detect = time("detect_s", 12);
    rules_.startup = time("startup_s", 20);
    close();
  }
  void add_checkpoint() {
    open("checkpoint");
    rules_.interval = static_cast<std::int64_t>(random_.below(20));
    add("interval_steps", fmt::format("{}", rules_.interval));
    rules_.saves_beside_training = chance();
    add("mode", rules_.saves_beside_training ? R"("async")" : R"("sync")");
    rules_.write = rate("write_gb_per_s", rules_.bytes, 6);
    rules_.read = rate("read_gb_per_s", rules_.bytes, 6);
    rules_.snapshot = rate("snapshot_gb_per_s", rules_.bytes, 6);
    rules_.storage_duty = 1.0 / (1 << random_.below(4));
    add("storage_duty", fmt::format("{}", rules_.storage_duty));
    close();
  }
  void add_fixed_nodes() {
    const std::int32_t most = rules_.max_training_nodes;
    std::int32_t asked = most;
    if (chance()) {
      asked = rules_.nodes_of_unit * (1 + static_cast<std::int32_t>(random_.below(
                                              static_cast<std::uint64_t>(most / rules_.nodes_of_unit))));
      add("nodes", fmt::format("{}", asked));
    }
    // A fixed batch may leave some of them idle.
    rules_.fixed_nodes = asked;
    for (const auto& [nodes, micro_batches] : rules_.micro_batches) {
      if (micro_batches != rules_.micro_batches.at(asked)) continue;
      rules_.fixed_nodes = nodes;
      break;
    }
  }
  void add_swap() {
    const std::string name = traits_.name;
    rules_.has_hot_spares = name == "hot_spare" || chance();
    if (name != "hot_spare") add("spares", rules_.has_hot_spares ? R"("hot")" : R"("cold")");
    const SimDuration swap = time("swap_s", 10);
    // Gemini starts all processes anew if spares are cold; Megatron has an option for that.
    bool stays_up = name != "gemini" || rules_.has_hot_spares;
    if (name == "megatron") {
      stays_up = chance();
      add("restart_in_place", stays_up ? "true" : "false");
    }
    if (stays_up) rules_.swap = swap;
  }
  void add_memory() {
    const bool is_gemini = std::string(traits_.name) == "gemini";
    rules_.replicas = static_cast<std::int32_t>(random_.below(4)) + (is_gemini ? 1 : 0);
    add(is_gemini ? "replicas" : "memory_replicas", fmt::format("{}", rules_.replicas));
    rules_.memory_interval = 1 + static_cast<std::int64_t>(random_.below(4));
    add("memory_interval_steps", fmt::format("{}", rules_.memory_interval));
    rules_.memory_stall = time("memory_stall_s", 0);
    rules_.fetch = rate("memory_gb_per_s", rules_.bytes, 6);
  }
  void add_migration() {
    rules_.regroups = true;
    open("migration");
    rules_.regroup_detect = time("detect_s", 10);
    rules_.regroup = time("regroup_s", 5);
    rules_.transfer_setup = time("transfer_setup_s", 3);
    rules_.send = rate("node_gb_per_s", rules_.shard, 6);
    close();
  }

  // One of the experts, sharded over all ranks.
  void add_partial_saves(const JobModel& job) {
    const ModuleBytes bytes = module_bytes(job.modules(), 14);
    const ExpertTokens tokens = expert_tokens(job.modules(), job.plan().parallel.sequence_length, 0, 0);
    rules_.parts = {bytes.experts, bytes.one_expert(), bytes.dense_total()};
    for (const auto& [nodes, step] : rules_.steps) {
      const PartialCheckpoint checkpoint{{1, 1}, ExpertSelection::kSequential, Sharding::kAdps, nodes};
      const RankWrites writes = partial_rank_writes(bytes, checkpoint, PecLevel::kPersist, tokens);
      const double all = writes.mean_bytes * nodes;
      rules_.partial_saves[nodes] = {
          writes.peak / rules_.snapshot,
          std::max(writes.peak / rules_.write, from_seconds(all / rules_.write.value)),
          Bytes{std::llround(all)}};
    }
  }

  RandomStream& random_;
  const PolicyTraits& traits_;
  RestartRules rules_;
};

void check_policy(const PolicyTraits& traits, std::uint64_t seed) {
  CAPTURE(traits.name);
  CAPTURE(seed);
  RandomStream random(seed, traits.name);
  PlannedJob planned = random_planned_job(random, traits);
  const RandomOptions options(random, traits, planned, training_rules(planned, traits));
  const NodeEvents events = random_node_history(random, planned.ever, options);
  const JobGoal goal = random_policy_goal(random, options.step());
  CAPTURE(options.json());

  PolicyCase production(traits.name, options.json(), std::move(planned.job));
  ScriptedFailures failures(events);
  JobResult got = production.run(goal, failures);
  got.metrics.clear();  // of lost tokens: not about time

  ScriptedFailures same_failures(events);
  ReferenceRestarts policy(options.rules());
  check_same(got, reference::run_job_step_by_step(goal, {}, same_failures, policy));
}

void check_policy(const PolicyTraits& traits) {
  for (std::uint64_t seed = 1; seed <= cases(400); ++seed) check_policy(traits, seed);
}

}  // namespace

TEST_CASE("policies: plain checkpoints agree with the step-by-step reference on jobs at random") {
  check_policy({.name = "checkpoint", .is_dense = true});
  check_policy({.name = "checkpoint", .is_dense = false});
}

TEST_CASE("policies: hot spares agree with the step-by-step reference on jobs at random") {
  check_policy({.name = "hot_spare", .is_dense = true, .is_fixed = true, .has_swap = true});
  check_policy({.name = "hot_spare", .is_dense = false, .is_fixed = true, .has_swap = true});
}

TEST_CASE("policies: Gemini agrees with the step-by-step reference on jobs at random") {
  check_policy({.name = "gemini", .is_dense = true, .is_fixed = true, .has_swap = true, .has_memory = true});
}

TEST_CASE("policies: Megatron agrees with the step-by-step reference on jobs at random") {
  check_policy({.name = "megatron", .is_dense = true, .has_swap = true, .has_memory = true});
  check_policy(
      {.name = "megatron", .is_dense = false, .has_swap = true, .has_memory = true, .has_no_balance = true});
}

TEST_CASE("policies: expert-parallel groups agree with the step-by-step reference on jobs at random") {
  check_policy({.name = "ds", .is_dense = false});
  check_policy({.name = "tutel", .is_dense = false, .moe_speedup = 1.2});
}

TEST_CASE("policies: groups that form anew agree with the step-by-step reference on jobs at random") {
  check_policy({.name = "ds_ft", .is_dense = false, .regroups = true});
  check_policy({.name = "tutel_ft", .is_dense = false, .regroups = true, .moe_speedup = 1.2});
}

TEST_CASE("policies: partial experts checkpoints agree with the step-by-step reference on jobs at random") {
  check_policy({.name = "pec", .is_dense = false, .saves_parts = true});
}

}  // namespace goodput::testing
