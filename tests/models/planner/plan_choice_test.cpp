#include "models/planner/plan_choice.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/schedule/schedule.h"
#include "sim/base/random.h"
#include "tests/support/random_integer.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::between;
using testing::random_plan;
using testing::small_plan;

PlanChoices choices_of(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space = {}) {
  auto choices = list_choices(base, gpus, space);
  REQUIRE(choices);
  return *std::move(choices);
}

// All but one list of a space fixed.
PlanSpace plain_space() {
  PlanSpace space;
  space.tp = space.cp = space.pp = space.micro_batch = {1};
  space.zero = {0};
  space.recompute = {Recompute::kNone};
  space.schedules = {"1f1b"};
  return space;
}

template <typename Member>
std::vector<int> values_chosen(const PlanChoices& choices, Member PlanChoice::*member) {
  std::set<int> values;
  for (const PlanChoice& choice : choices.choices) values.insert(static_cast<int>(choice.*member));
  return {values.begin(), values.end()};
}

std::set<std::string> schedules_chosen(const PlanChoices& choices) {
  std::set<std::string> names;
  for (const PlanChoice& choice : choices.choices)
    names.emplace(schedules()[static_cast<std::size_t>(choice.schedule)].name);
  return names;
}

}  // namespace

TEST_CASE("plan choices: tensor parallelism divides the GPUs of a node and the model") {
  TrainingPlan base = small_plan();  // 8 heads, 8 GPUs a node
  base.parallel.global_batch = 64;
  PlanSpace space = plain_space();
  space.tp = {};
  CHECK(values_chosen(choices_of(base, 64, space), &PlanChoice::tp) == std::vector{1, 2, 4, 8});
  base.model.heads = base.model.kv_heads = 12;
  CHECK(values_chosen(choices_of(base, 64, space), &PlanChoice::tp) == std::vector{1, 2, 4});
  base.model.kv_heads = 3;  // 2 and 4 are neither divisors nor multiples
  CHECK(values_chosen(choices_of(base, 64, space), &PlanChoice::tp) == std::vector{1});
}

TEST_CASE("plan choices: context parallelism leaves a GPU 4096 tokens") {
  TrainingPlan base = small_plan();
  base.parallel.global_batch = 64;
  PlanSpace space = plain_space();
  space.cp = {};
  CHECK(values_chosen(choices_of(base, 64, space), &PlanChoice::cp) == std::vector{1});
  base.parallel.sequence_length = 32'768;
  CHECK(values_chosen(choices_of(base, 64, space), &PlanChoice::cp) == std::vector{1, 2, 4, 8});
  CHECK(values_chosen(choices_of(base, 4, space), &PlanChoice::cp) == std::vector{1, 2, 4});
}

TEST_CASE("plan choices: every way to share the GPUs between stages and replicas that the batch allows") {
  TrainingPlan base = small_plan();  // 8 layers
  base.parallel.global_batch = 24;
  PlanSpace space = plain_space();
  space.pp = {};
  std::vector<std::pair<int, int>> shared;
  for (const PlanChoice& choice : choices_of(base, 48, space).choices)
    shared.emplace_back(choice.pp, choice.dp);
  // 48 = pp x dp, pp at most 8; 48 replicas are more than the batch of 24 (and are counted), 16 do not divide
  // it. Of those three leave no micro-batch of 1 whole.
  CHECK(shared == std::vector<std::pair<int, int>>{{1, 48}, {2, 24}, {3, 16}, {4, 12}, {6, 8}, {8, 6}});
  space.micro_batch = {};
  shared.clear();
  for (const PlanChoice& choice : choices_of(base, 48, space).choices) {
    if (choice.micro_batch == 1) shared.emplace_back(choice.pp, choice.dp);
  }
  CHECK(shared == std::vector<std::pair<int, int>>{{2, 24}, {4, 12}, {6, 8}, {8, 6}});
}

TEST_CASE("plan choices: what lists name and does not come to the GPUs is counted") {
  TrainingPlan base = small_plan();
  base.parallel.global_batch = 24;
  PlanSpace space = plain_space();
  space.tp = {1, 3};
  space.pp = {2, 4, 5};
  space.dp = {4, 8, 5};
  // tp 3 does not divide 16 GPUs: 1. Of 9 pairs of pp and dp, 2 x 8 and 4 x 4 are 16; pp 5 counts once.
  const PlanChoices choices = choices_of(base, 16, space);
  CHECK(choices.choices.size() == 2);
  CHECK(choices.of_other_sizes == 1 + 2 + 2 + 1);
  space.dp = {};
  space.micro_batch = {};
  space.pp = {1, 2};  // dp 16 does not divide the batch of 24, dp 8 does
  CHECK(choices_of(base, 16, space).of_other_batches == 1);
}

TEST_CASE("plan choices: micro-batches divide what a replica has, up to 131,072 tokens") {
  TrainingPlan base = small_plan();
  base.parallel.global_batch = 96;
  base.parallel.sequence_length = 16'384;
  PlanSpace space = plain_space();
  space.micro_batch = {};
  CHECK(values_chosen(choices_of(base, 8, space), &PlanChoice::micro_batch) ==
        std::vector{1, 2, 3, 4, 6});  // of 12; 8 would be the most
  base.parallel.sequence_length = 1'000'000;
  CHECK(values_chosen(choices_of(base, 8, space), &PlanChoice::micro_batch) == std::vector{1});
}

TEST_CASE("plan choices: experts are shared out over what divides them and the replicas") {
  TrainingPlan base = small_plan();
  base.model.moe = MoeShape{.experts = 12, .top_k = 2, .expert_ffn = 512};
  base.parallel.global_batch = 64;
  CHECK(values_chosen(choices_of(base, 8, plain_space()), &PlanChoice::ep) == std::vector{1, 2, 4});
}

TEST_CASE("plan choices: unless the base plan says otherwise, experts are cut up over tp GPUs, or whole") {
  TrainingPlan base = small_plan();
  base.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 510};
  base.parallel.global_batch = 64;
  PlanSpace space = plain_space();
  const auto etp_with = [&](std::int32_t tp, bool sequence_parallel) {
    space.tp = {tp};
    base.parallel.sequence_parallel = sequence_parallel;
    return values_chosen(choices_of(base, 8, space), &PlanChoice::etp);
  };
  CHECK(etp_with(2, true) == std::vector{0, 1});
  CHECK(etp_with(2, false) == std::vector{0});
  CHECK(etp_with(1, true) == std::vector{0});  // the same
  CHECK(etp_with(4, true) == std::vector{1});  // 4 does not divide 510
}

TEST_CASE("plan choices: with etp 1 experts are shared out over tensor-parallel GPUs too") {
  TrainingPlan base = small_plan();
  base.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 512};
  base.parallel.global_batch = 64;
  PlanSpace space = plain_space();
  space.tp = {4};
  // 8 GPUs: two replicas of 4.
  CHECK(values_chosen(choices_of(base, 8, space), &PlanChoice::ep) == std::vector{1, 2});
  base.parallel.etp = 1;                              // of the plan, or of its stack
  CHECK(choices_of(base, 8, space).choices.empty());  // tensor-parallel GPUs have the same tokens
  base.parallel.sequence_parallel = true;
  CHECK(values_chosen(choices_of(base, 8, space), &PlanChoice::ep) == std::vector{1, 2, 4, 8});
  base.parallel.etp = 0;
  space.etp = {1, 2};
  const PlanChoices both = choices_of(base, 8, space);
  CHECK(values_chosen(both, &PlanChoice::etp) == std::vector{1, 2});
  for (const PlanChoice& choice : both.choices) CHECK(8 / choice.etp % choice.ep == 0);
}

TEST_CASE(
    "plan choices: schedules are those that run the micro-batches, and one where nothing is pipelined") {
  TrainingPlan base = small_plan();
  base.model.moe = MoeShape{.experts = 4, .top_k = 2, .expert_ffn = 512};
  base.parallel.global_batch = 64;
  PlanSpace space = plain_space();
  space.schedules = {};
  space.pp = {4};
  using Names = std::set<std::string>;
  CHECK(schedules_chosen(choices_of(base, 16, space)) == Names{"1f1b", "interleaved", "zb-h1", "dualpipe"});
  space.ep = {1};  // no experts far away whose traffic DualPipe could hide
  CHECK(schedules_chosen(choices_of(base, 16, space)) == Names{"1f1b", "interleaved", "zb-h1"});
  space.schedules = {"zb-v", "v-half", "dualpipev"};  // only if they are named
  CHECK(schedules_chosen(choices_of(base, 16, space)) == Names{"zb-v", "v-half", "dualpipev"});
  space.schedules = {};
  base.parallel.global_batch = 8;  // two micro-batches: no multiple of the stages
  CHECK(schedules_chosen(choices_of(base, 16, space)) == Names{"1f1b", "zb-h1"});
  space.pp = {1};
  CHECK(schedules_chosen(choices_of(base, 4, space)) == Names{"1f1b"});
}

TEST_CASE("plan choices: chunks divide the layers of a stage, or nearly so where stages are uneven") {
  TrainingPlan base = small_plan();
  base.parallel.global_batch = 64;
  PlanSpace space = plain_space();
  space.schedules = {"interleaved"};
  space.pp = {2};
  base.model.layers = 24;
  CHECK(values_chosen(choices_of(base, 2, space), &PlanChoice::vpp) == std::vector{2, 3, 4, 6, 12});
  // 126 layers on 4 stages: 8, 16, 32, 64 and 128 positions have room for 128, 12 and 44 for 132, others for
  // 140 and more.
  base.model.layers = 126;
  space.pp = {4};
  CHECK(values_chosen(choices_of(base, 4, space), &PlanChoice::vpp) == std::vector{2, 3, 4, 8, 11, 16, 32});
  // In lists one chunk is for schedules that take no more.
  space.vpp = {1, 2, 4};
  space.schedules = {"1f1b", "interleaved"};
  const PlanChoices choices = choices_of(base, 4, space);
  CHECK(choices.choices.size() == 3);
  CHECK(values_chosen(choices, &PlanChoice::vpp) == std::vector{1, 2, 4});
}

TEST_CASE("plan choices: what makes no difference is there once") {
  TrainingPlan base = small_plan();
  base.parallel.global_batch = 16;
  PlanSpace space = plain_space();
  space.zero = {};
  space.recompute = {};
  const auto zeros = [&](std::int64_t gpus) {
    return values_chosen(choices_of(base, gpus, space), &PlanChoice::zero);
  };
  CHECK(zeros(1) == std::vector{0});
  CHECK(zeros(8) == std::vector{0, 1, 3});
  CHECK(zeros(16) == std::vector{0, 1, 2, 3});
  space.pp = {2};
  CHECK(zeros(16) == std::vector{0, 1});
  const auto kinds = [&] { return values_chosen(choices_of(base, 8, space), &PlanChoice::recompute); };
  CHECK(kinds() == std::vector{0, 2});  // nothing selective about fused attention and plain activations
  base.model.gated_ffn = true;
  CHECK(kinds() == std::vector{0, 1, 2});
}

TEST_CASE("plan choices: what is left open breaks no rule of plans, and no two choices are the same") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    TrainingPlan base = random_plan(seed);
    RandomStream random(seed, "searched");
    INFO("seed ", seed);
    base.parallel.zero_instances = 1;
    base.parallel.global_batch = between(random, 1, 96);
    const std::int64_t gpus = between(random, 1, 64);
    base.cluster.nodes = 64;
    const PlanChoices choices = choices_of(base, gpus);
    CHECK(choices.of_other_sizes == 0);
    CHECK(choices.of_other_batches == 0);
    const PlanMaker maker(base, choices.choices);
    std::set<std::tuple<int, int, int, int, int, int, int, int, int, int, int>> seen;
    TrainingPlan plan = base;
    for (const PlanChoice& c : choices.choices) {
      plan.parallel = maker.plan(c);
      const Status fine = check_training_plan(plan);
      CHECK_MESSAGE(fine, (fine ? "" : fine.error().message()));
      CHECK(plan.parallel.gpus() == gpus);
      CHECK(seen.insert({c.dp, c.pp, c.tp, c.cp, c.ep, c.etp, c.vpp, c.micro_batch, c.zero,
                         static_cast<int>(c.recompute), c.schedule})
                .second);
    }
  }
}

TEST_CASE("plan choices: a plan is the base with the choice in it") {
  TrainingPlan base = small_plan();
  base.parallel.sequence_parallel = true;
  base.parallel.overlap_p2p = true;
  base.parallel.global_batch = 64;
  base.model.layers = 10;
  const std::vector<PlanChoice> choices = {
      {.dp = 2, .pp = 4, .tp = 2, .micro_batch = 4, .zero = 1, .recompute = Recompute::kFull},
      {.dp = 4, .pp = 2}};
  const PlanMaker maker(base, choices);
  const ParallelPlan plan = maker.plan(choices[0]);
  CHECK(plan.gpus() == 16);
  CHECK(plan.micro_batches() == 8);
  CHECK(plan.zero == 1);
  CHECK(plan.recompute == Recompute::kFull);
  CHECK(plan.sequence_parallel);
  CHECK(plan.overlap_p2p);
  CHECK(plan.layers_per_stage.size() == 4);  // 10 layers do not divide by 4
  CHECK(maker.plan(choices[1]).layers_per_stage.empty());
  CHECK_FALSE(maker.plan(choices[1]).sequence_parallel);  // nothing to be parallel to
}

TEST_CASE("plan choices: more than two million are too many") {
  TrainingPlan base = small_plan();
  base.parallel.global_batch = 64;
  PlanSpace space;
  for (std::int32_t i = 1; i <= 2000; ++i) {
    space.micro_batch.push_back(i);
    space.vpp.push_back(i);
    space.ep.push_back(i);
  }
  space.schedules = {"interleaved"};
  const auto choices = list_choices(base, 8, space);
  REQUIRE_FALSE(choices);
  CHECK(choices.error().message() ==
        "there are more than 2000000 plans to examine; shorten the lists in \"search\"");
}

}  // namespace goodput
