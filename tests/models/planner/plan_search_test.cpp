#include "models/planner/plan_search.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/planner/plan_choice.h"
#include "models/schedule/schedule.h"
#include "models/step/memory_model.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::random_plan;
using testing::small_plan;

// 16 GPUs of two nodes, 8 layers, 32 sequences.
TrainingPlan searched_base() {
  TrainingPlan base = small_plan();
  base.cluster.nodes = 2;
  base.parallel.global_batch = 32;
  return base;
}

PlanSearch search(const TrainingPlan& base, std::int64_t gpus, const PlanSearchOptions& options = {},
                  const PlanSpace& space = {}) {
  auto found = search_plans(base, gpus, space, options);
  REQUIRE_MESSAGE(found, (found ? "" : found.error().message()));
  return *std::move(found);
}

std::int64_t count_rejected(const PlanSearch& found) {
  std::int64_t count = 0;
  for (const auto& [reason, of_reason] : found.rejected) count += of_reason;
  return count;
}

std::string line_of(const ParallelPlan& plan, SimDuration step, Bytes memory) {
  return fmt::format("dp {} pp {} tp {} cp {} ep {} vpp {} mb {} zero {} recompute {} {} {}: {} ns, {} bytes",
                     plan.dp, plan.pp, plan.tp, plan.cp, plan.ep, plan.vpp, plan.micro_batch, plan.zero,
                     static_cast<int>(plan.recompute), plan.schedule, fmt::join(plan.layers_per_stage, " "),
                     step.count(), memory.value);
}

std::vector<std::string> lines_of(const std::vector<RankedPlan>& best) {
  std::vector<std::string> lines;
  for (const RankedPlan& ranked : best) lines.push_back(line_of(ranked.parallel, ranked.step, ranked.memory));
  return lines;
}
std::vector<std::string> lines_of(const PlanSearch& found) {
  return lines_of(found.best);
}

// Every choice checked and built by itself.
std::vector<std::string> lines_one_by_one(const TrainingPlan& base, const PlanSpace& space,
                                          const PlanSearchOptions& options) {
  const auto choices = list_choices(base, base.parallel.gpus(), space);
  REQUIRE(choices);
  const PlanMaker maker(base, choices->choices);
  TrainingPlan plan = base;
  const auto cost = make_cost_model(cost_inputs(plan));
  REQUIRE(cost);
  std::vector<std::tuple<SimDuration, Bytes, std::size_t, std::string>> fitting;
  for (const PlanChoice& choice : choices->choices) {
    plan.parallel = maker.plan(choice);
    if (!check_training_plan(plan)) continue;
    const MemoryReport memory = estimate_memory(plan, **find_schedule(plan.parallel.schedule));
    if (!memory.fits()) continue;
    const auto step = build_planned_step(plan, **cost, Granularity::kLayers, options.seed);
    REQUIRE(step);
    const Bytes needed = memory.stages[memory.fullest].total();
    fitting.emplace_back(step_time(*step), needed, fitting.size(),
                         line_of(plan.parallel, step_time(*step), needed));
  }
  std::sort(fitting.begin(), fitting.end());
  std::vector<std::string> lines;
  for (const auto& plan_line : fitting) {
    if (lines.size() < options.keep) lines.push_back(std::get<3>(plan_line));
  }
  return lines;
}

// A policy that runs plans without pipeline stages, one that runs any plan without its ZeRO, and one that
// runs nothing.
std::vector<PlanGate> some_gates() {
  PlanLimits one_stage;
  one_stage.check = [](const ParallelPlan& plan) -> Status {
    return plan.pp == 1 ? Status(Ok{}) : Status(Error{"must be 1", {.pointer = "/parallel/pp"}});
  };
  PlanLimits unsharded;
  unsharded.placed = [](const ParallelPlan& plan) {
    PlacedPlan placed{plan};
    placed.parallel.zero = 0;
    return placed;
  };
  PlanLimits none;
  none.check = [](const ParallelPlan&) -> Status { return Error{"runs nothing"}; };
  return {{one_stage, 2, 0}, {unsharded, 0, 4}, {none, 3, 3}};
}

// Every choice by itself; the best of each kind that the gate asks for, in order.
std::vector<std::string> kinds_one_by_one(const TrainingPlan& base, const PlanSpace& space,
                                          const PlanGate& gate) {
  const auto choices = list_choices(base, base.parallel.gpus(), space);
  REQUIRE(choices);
  const PlanMaker maker(base, choices->choices);
  TrainingPlan plan = base;
  const auto cost = make_cost_model(cost_inputs(plan));
  REQUIRE(cost);
  std::vector<std::tuple<SimDuration, Bytes, std::size_t, std::string>> kinds;  // by time, any kind
  std::map<std::tuple<int, int, int, std::string, int>,
           std::tuple<SimDuration, Bytes, std::size_t, std::string>>
      best;
  std::map<bool, std::tuple<SimDuration, Bytes, std::size_t, std::string>> families;  // by ZeRO-3 or not
  for (std::size_t i = 0; i < choices->choices.size(); ++i) {
    plan.parallel = maker.plan(choices->choices[i]);
    if (!check_training_plan(plan)) continue;
    if (gate.limits.check && !gate.limits.check(plan.parallel)) continue;
    TrainingPlan placed = plan;
    if (gate.limits.placed) placed.parallel = gate.limits.placed(plan.parallel).parallel;
    if (!estimate_memory(placed, **find_schedule(placed.parallel.schedule)).fits()) continue;
    const MemoryReport memory = estimate_memory(plan, **find_schedule(plan.parallel.schedule));
    const Bytes needed = memory.stages[memory.fullest].total();
    const auto step = build_planned_step(plan, **cost, Granularity::kLayers, 7);
    REQUIRE(step);
    const ParallelPlan& parallel = plan.parallel;
    std::tuple<int, int, int, std::string, int> key{parallel.tp * parallel.pp * parallel.cp, 0, 0, "", 0};
    if (gate.layouts > 0)
      key = {parallel.tp, parallel.pp, parallel.cp, parallel.schedule, std::min(parallel.zero, 2)};
    const std::tuple timed{step_time(*step), needed, i, line_of(parallel, step_time(*step), needed)};
    const auto [known, is_new] = best.emplace(key, timed);
    if (!is_new) known->second = std::min(known->second, timed);
    const auto family = families.emplace(parallel.zero == 3, timed).first;
    family->second = std::min(family->second, timed);
  }
  for (const auto& [key, timed] : best) kinds.push_back(timed);
  std::sort(kinds.begin(), kinds.end());
  kinds.resize(std::min(kinds.size(), std::max(gate.sizes, gate.layouts)));
  for (const auto& [is_fsdp, timed] : families) kinds.push_back(timed);
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::vector<std::string> lines;
  for (const auto& timed : kinds) lines.push_back(std::get<3>(timed));
  return lines;
}

}  // namespace

TEST_CASE("plan search: every candidate is timed, pruned or rejected, and the best plans are in order") {
  const PlanSearch found = search(searched_base(), 16);
  CHECK(found.candidates == found.timed + found.pruned + count_rejected(found));
  REQUIRE(found.best.size() == 10);
  for (std::size_t i = 0; i < found.best.size(); ++i) {
    const ParallelPlan& plan = found.best[i].parallel;
    CHECK(plan.gpus() == 16);
    CHECK(plan.global_batch == 32);
    if (i > 0) CHECK(found.best[i].step >= found.best[i - 1].step);
  }
}

TEST_CASE("plan search: the best plans take what plan-step says, in time and in memory") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    INFO("seed ", seed);
    TrainingPlan plan = random_plan(seed);
    const std::int64_t gpus = plan.parallel.gpus();
    plan.memory_margin = 0.1;
    const PlanSearch found = search(plan, gpus, {.keep = 5, .seed = 7});
    const auto cost = make_cost_model(cost_inputs(plan));
    REQUIRE(cost);
    for (const RankedPlan& ranked : found.best) {
      plan.parallel = ranked.parallel;
      REQUIRE(check_training_plan(plan));
      const auto step = build_planned_step(plan, **cost, Granularity::kLayers, 7);
      REQUIRE(step);
      const StepReport report = report_step(plan, *step);
      CHECK(ranked.step == report.step);
      CHECK(ranked.mfu == report.mfu);
      CHECK(ranked.tier == report.tier);
      CHECK(ranked.memory == report.memory.stages[report.memory.fullest].total());
      CHECK(ranked.memory <= ranked.available);
    }
  }
}

TEST_CASE("plan search: pruned or not, by one thread or five, the best plans are the same" *
          doctest::test_suite("slow")) {
  std::int64_t pruned = 0;
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    TrainingPlan plan = random_plan(seed);
    plan.memory_margin = 0.5;
    INFO("seed ", seed);
    PlanSearchOptions options{.keep = 7, .jobs = 5, .seed = 7, .prunes = false};
    const PlanSearch all = search(plan, plan.parallel.gpus(), options);
    CHECK(all.pruned == 0);
    options.prunes = true;
    const PlanSearch by_five = search(plan, plan.parallel.gpus(), options);
    options.jobs = 1;
    const PlanSearch by_one = search(plan, plan.parallel.gpus(), options);
    CHECK(lines_of(by_one) == lines_of(by_five));
    CHECK(lines_of(by_one) == lines_of(all));
    CHECK(by_one.timed == by_five.timed);
    CHECK(by_one.candidates == all.candidates);
    CHECK(by_one.timed + by_one.pruned == all.timed);
    CHECK(by_one.rejected == all.rejected);
    pruned += by_one.pruned;
  }
  CHECK(pruned > 1000);
}

TEST_CASE("plan search: a plain loop over all choices finds the same") {
  for (std::uint64_t seed = 20; seed < 26; ++seed) {
    TrainingPlan base = random_plan(seed);
    INFO("seed ", seed);
    PlanSpace space;
    space.schedules = {base.parallel.schedule};
    space.recompute = {base.parallel.recompute};
    space.zero = {base.parallel.zero};
    const PlanSearchOptions options{.keep = 4, .seed = 7};
    const PlanSearch found = search(base, base.parallel.gpus(), options, space);
    const std::vector<std::string> expected = lines_one_by_one(base, space, options);
    CHECK(fmt::format("{}", fmt::join(lines_of(found), "\n")) ==
          fmt::format("{}", fmt::join(expected, "\n")));
  }
}

TEST_CASE("plan search: of each gate it keeps what a plain loop over the plans of that gate finds") {
  for (std::uint64_t seed = 40; seed < 48; ++seed) {
    CAPTURE(seed);
    TrainingPlan base = random_plan(seed);
    base.cluster.gpu.memory = Bytes{std::int64_t{4} << 30};
    PlanSpace space;
    space.schedules = {base.parallel.schedule, "1f1b"};
    space.recompute = {base.parallel.recompute};
    const std::vector<PlanGate> gates = some_gates();
    PlanSearchOptions options{.keep = 3, .gates = gates, .jobs = 5, .seed = 7};
    const PlanSearch found = search(base, base.parallel.gpus(), options, space);
    REQUIRE(found.admitted.size() == gates.size());
    CHECK(found.candidates == found.timed + found.pruned + count_rejected(found));
    for (std::size_t i = 0; i < gates.size(); ++i) {
      CAPTURE(i);
      CHECK(fmt::format("{}", fmt::join(lines_of(found.admitted[i].best), "\n")) ==
            fmt::format("{}", fmt::join(kinds_one_by_one(base, space, gates[i]), "\n")));
    }
    options.gates.clear();
    CHECK(lines_of(search(base, base.parallel.gpus(), options, space)) == lines_of(found));
    options.gates = gates;
    options.prunes = false;
    options.jobs = 1;
    const PlanSearch unpruned = search(base, base.parallel.gpus(), options, space);
    for (std::size_t i = 0; i < gates.size(); ++i)
      CHECK(lines_of(unpruned.admitted[i].best) == lines_of(found.admitted[i].best));
  }
}

TEST_CASE("plan search: a gate names the plan that comes closest to fitting as the policy places it") {
  TrainingPlan base = searched_base();
  PlanLimits doubled;  // a policy that needs the optimizer state on every GPU
  doubled.placed = [](const ParallelPlan& plan) {
    PlacedPlan placed{plan};
    placed.parallel.zero = 0;
    return placed;
  };
  PlanSpace space;
  space.dp = {16};
  space.zero = {1};
  const Bytes sharded = search(base, 16, {}, space).best.front().memory;
  base.cluster.gpu.memory = Bytes{sharded.value + 1'000'000};
  const PlanSearch found = search(base, 16, {.gates = {{doubled}}}, space);
  REQUIRE_FALSE(found.best.empty());
  CHECK(found.admitted[0].best.empty());
  REQUIRE(found.admitted[0].closest);
  CHECK(found.admitted[0].closest->memory > found.admitted[0].closest->available);
  CHECK(found.admitted[0].closest->available == base.cluster.gpu.memory);
}

TEST_CASE("plan search: where nothing fits there is no plan, but the one that comes closest") {
  TrainingPlan base = searched_base();
  base.cluster.gpu.memory = Bytes{std::int64_t{1} << 30};  // less than what is reserved on every GPU
  const PlanSearch found = search(base, 16);
  CHECK(found.best.empty());
  CHECK(found.timed == 0);
  CHECK(found.rejected.at("does not fit into memory") > 100);
  REQUIRE(found.closest);
  CHECK(found.closest->memory > found.closest->available);
  CHECK(found.closest->available == base.cluster.gpu.memory);
}

TEST_CASE("plan search: settings for one node hold where all GPUs fit one") {
  TrainingPlan base = searched_base();
  base.parallel.within_node = WithinNode{.recompute = Recompute::kNone, .pad_vocab_to = 64};
  base.parallel.layers_per_stage = {8};
  const PlanSearch on_one = search(base, 8);
  CHECK(on_one.best.front().parallel.pad_vocab_to == 64);
  CHECK_FALSE(on_one.best.front().parallel.within_node);
  CHECK(search(base, 16).best.front().parallel.pad_vocab_to == 128);
}

TEST_CASE("plan search: progress goes up to all candidates, told by the thread that asked") {
  std::vector<std::uint64_t> seen;
  std::uint64_t candidates = 0;
  PlanSearchOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    seen.push_back(done);
    candidates = total;
  };
  const PlanSearch found = search(searched_base(), 16, options);
  REQUIRE_FALSE(seen.empty());
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(static_cast<std::int64_t>(candidates) == found.candidates);
  CHECK(seen.back() <= candidates);
}

TEST_CASE("plan search: a cluster has to have the GPUs that are to train") {
  const auto found = search_plans(searched_base(), 17, {}, {});
  REQUIRE_FALSE(found);
  CHECK(found.error().message() == "/cluster: has 16 GPUs, but the plan must train on 17");
}

}  // namespace goodput
