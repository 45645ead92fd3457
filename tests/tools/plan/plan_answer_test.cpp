#include "tools/plan/plan_answer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "models/checkpoint/save_interval.h"
#include "tests/tools/plan/small_question.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/plan/contenders.h"
#include "tools/plan/plan_values.h"

namespace goodput {
namespace {

PlanAnswer answer_to(const PlanQuestion& question, bool has_sensitivity = false, unsigned jobs = 2) {
  PlanRunOptions options;
  options.jobs = jobs;
  options.has_sensitivity = has_sensitivity;
  auto answer = answer_question(question, options);
  REQUIRE_MESSAGE(answer, answer.error().message());
  return *std::move(answer);
}

// The mean objective of everything on the grid, with so many trials of each.
struct BruteForce {
  double best = std::numeric_limits<double>::infinity();
  double of_answer = 0;
};
BruteForce brute_force(const PlanQuestion& question, const PlanAnswer& answer, std::int64_t trials) {
  std::vector<Entry> entries;
  const std::vector<ScenarioPolicy> policies = competing_policies(question).value();
  for (const ParallelPlan& parallel : answer.simulated) {
    for (const std::int32_t spares : question.spares)
      entries.push_back({{parallel, spares, 0}, policies, question.intervals});
  }
  auto contenders = Contenders::make(question, entries, {0, 2, answer.most});
  REQUIRE(contenders);
  std::vector<std::size_t> all(contenders->size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  REQUIRE(contenders->run(all, trials));
  BruteForce brute;
  for (const std::size_t i : all) {
    const auto values = objective_values(question.objective, contenders->trials(i));
    if (!values) continue;
    const double mean = std::accumulate(values->begin(), values->end(), 0.0) / static_cast<double>(trials);
    brute.best = std::min(brute.best, mean);
    const PlannedNodes& choice = contenders->setting(i).choice;
    const bool is_answer = (*contenders)[i].base == answer.best->policy &&
                           (*contenders)[i].interval_steps == answer.best->interval_steps &&
                           choice.spares == answer.best->choice.spares &&
                           choice.parallel.pp == answer.best->choice.parallel.pp &&
                           choice.parallel.tp == answer.best->choice.parallel.tp;
    if (is_answer) brute.of_answer = mean;
  }
  return brute;
}

const PolicyPlans& plans_of(const PlanAnswer& answer, const std::string& policy) {
  const auto found = std::ranges::find(answer.policies, policy, &PolicyPlans::policy);
  REQUIRE(found != answer.policies.end());
  return *found;
}

}  // namespace

TEST_CASE("plan: the answer is within one percent of the best of the whole grid with 1,000 trials each" *
          doctest::test_suite("release-only")) {
  const PlanQuestion question = small_question();
  const PlanAnswer answer = answer_to(question);
  REQUIRE(answer.best);
  const BruteForce brute = brute_force(question, answer, 1000);
  REQUIRE(brute.of_answer > 0);
  INFO("grid ", brute.best, ", answer ", brute.of_answer);
  CHECK(brute.of_answer <= 1.01 * brute.best);
  CHECK(answer.best->cost_usd->mean == doctest::Approx(brute.of_answer).epsilon(0.02));
  CHECK(answer.runs < 512 * answer.contenders / 2);  // racing saves half of them at the least
}

TEST_CASE("plan: all contenders that always finish are told, the cheapest first, the answer among them") {
  const PlanAnswer answer = answer_to(
      small_question({{"/policies", R"({"checkpoint": {}})"}, {"/plans", "1"}, {"/max_trials", "16"}}));
  REQUIRE(answer.best);
  // Of each plan that was simulated three numbers of spares, each with three intervals.
  CHECK(answer.finishing.size() == 9 * answer.simulated.size());
  CHECK(std::is_sorted(
      answer.finishing.begin(), answer.finishing.end(),
      [](const PlanOption& a, const PlanOption& b) { return a.cost_usd->mean < b.cost_usd->mean; }));
  CHECK(std::any_of(answer.finishing.begin(), answer.finishing.end(), [&](const PlanOption& option) {
    return option.cost_usd->mean == answer.best->cost_usd->mean &&
           option.jct_s->mean == answer.best->jct_s->mean;
  }));
}

TEST_CASE(
    "plan: around the answer, what each other number of spares and of steps between checkpoints comes to") {
  const PlanAnswer answer = answer_to(small_question({{"/policies", R"({"checkpoint": {}})"},
                                                      {"/spares", "[0, 1, 2]"},
                                                      {"/intervals", "[0.5, 1, 2]"},
                                                      {"/plans", "1"},
                                                      {"/max_trials", "16"}}));
  REQUIRE(answer.best);
  REQUIRE(answer.curves.size() == 2);
  CHECK(answer.curves[0].factor == PlanFactor::kSpares);
  CHECK(answer.curves[1].factor == PlanFactor::kInterval);
  for (const OneFactorCurve& curve : answer.curves) {
    REQUIRE(curve.options.size() == 3);
    int of_answer = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const PlanOption& option = curve.options[i];
      if (i > 0) CHECK(factor_value(curve.factor, option) > factor_value(curve.factor, curve.options[i - 1]));
      if (factor_value(curve.factor, option) != factor_value(curve.factor, *answer.best)) continue;
      ++of_answer;
      CHECK(option.cost_usd->mean == answer.best->cost_usd->mean);
    }
    CHECK(of_answer == 1);
  }
}

TEST_CASE("plan: checkpoints are as often as Daly's exact model has it, within a tie") {
  const PlanQuestion question = small_question({{"/policies", R"({"checkpoint": {}})"},
                                                {"/spares", "[8]"},
                                                {"/plans", "1"},
                                                {"/intervals", "[0.1, 0.25, 0.5, 1, 2, 4, 10]"}});
  const PlanAnswer answer = answer_to(question);
  REQUIRE(answer.best);
  // 16.06 GB a million parameters: 14 bytes of 8.03 billion at 5 GB/s; 8 of 16 nodes that fail 200 times in
  // 1000 days.
  const double save_s = 14 * 8.03e9 / 5e9;
  const double mtbf_s = 1000 * 86400.0 / (200 * 8);
  const double restart_s = 120 + 300 + save_s;
  const double step_s = to_seconds(answer.search.best.front().step);
  const auto efficiency = [&](double t) {
    return t / (mtbf_s * std::exp(restart_s / mtbf_s) * (std::exp((t + save_s) / mtbf_s) - 1));
  };
  const double best = efficiency(optimal_interval_s({mtbf_s, save_s, restart_s}));
  const double found = efficiency(static_cast<double>(answer.best->interval_steps) * step_s);
  INFO("efficiency at the optimum ", best, ", at the answer ", found);
  CHECK(found >= 0.995 * best);
}

TEST_CASE("plan: the answer is the same for any number of threads" * doctest::test_suite("release-only")) {
  const PlanQuestion question = small_question({{"/max_trials", "64"}});
  const PlanAnswer one = answer_to(question, true, 1);
  const PlanAnswer three = answer_to(question, true, 3);
  REQUIRE(one.best);
  CHECK(one.best->policy == three.best->policy);
  CHECK(one.best->cost_usd->mean == three.best->cost_usd->mean);
  CHECK(one.ties.size() == three.ties.size());
  CHECK(one.runs == three.runs);
  CHECK(one.sensitivity.objective == three.sensitivity.objective);
}

TEST_CASE("plan: a deadline that nothing meets has the soonest as its closest answer, and what it lacks") {
  const PlanAnswer answer = answer_to(small_question({{"/deadline", "10h@95%"}}));
  CHECK_FALSE(answer.best);
  REQUIRE(answer.closest);
  CHECK(
      answer.lacks.starts_with("no choice meets the deadline often enough; the closest one meets the "
                               "deadline in 0.0 % of runs (95 % required) and takes "));
}

TEST_CASE("plan: a budget with a probability that nothing keeps is missed by that probability") {
  const PlanAnswer answer = answer_to(small_question({{"/budget", "1000@90%"}, {"/max_trials", "64"}}));
  CHECK_FALSE(answer.best);
  CHECK(answer.lacks.starts_with("no choice stays within the budget; the cheapest one costs $"));
  CHECK(answer.lacks.ends_with(
      " on average and stays within the budget of $1000 in 0.0 % of runs (90 % required)"));
}

TEST_CASE("plan: deadline and budget that can each be kept alone, but not both, are said to contradict" *
          doctest::test_suite("slow")) {
  const PlanQuestion free = small_question();
  const PlanAnswer answer = answer_to(free);
  REQUIRE(answer.pareto.size() >= 2);
  const PlanOption& cheapest = answer.pareto.front();
  const PlanOption& soonest = answer.pareto.back();
  const double usd = (cheapest.cost_usd->mean + soonest.cost_usd->mean) / 2;
  const double by = (cheapest.jct_p95_s->mean + soonest.jct_p95_s->mean) / 2;
  const PlanAnswer torn = answer_to(small_question(
      {{"/budget", std::to_string(usd)}, {"/deadline", std::to_string(by)}, {"/objective", "jct"}}));
  // Between the two there may be something that keeps to both: then it is the answer.
  if (torn.best) {
    CHECK(torn.best->cost_usd->mean <= usd);
    CHECK(torn.best->p_deadline->mean >= 0.95);
  } else {
    CHECK(torn.lacks.starts_with(
        "no choice meets both deadline and budget. The cheapest choice that meets the deadline costs "));
  }
}

TEST_CASE("plan: with a margin that no plan leaves, the nearest plan is named") {
  const PlanAnswer answer = answer_to(small_question({{"/memory_margin", "0.97"}}));
  CHECK_FALSE(answer.best);
  CHECK(answer.lacks.starts_with("no parallel plan fits in memory; the closest, TP "));
}

TEST_CASE("plan: a policy whose plans do not fit into memory is no contender, and says what it lacks") {
  // A node is a replica, and elastic_dp shards within it only: 70.6 billion parameters x 18 bytes over 8 GPUs
  // are 159 GB. All 64 GPUs share the same with ZeRO-3.
  const PlanAnswer answer = answer_to(small_question(
      {{"/model", "llama3-70b"}, {"/search", R"({"tp": [8], "pp": [1], "cp": [1], "zero": [3]})"}}));
  REQUIRE(answer.best);
  CHECK(plans_of(answer, "elastic_dp").plans.empty());
  CHECK(plans_of(answer, "elastic_dp")
            .reason.starts_with(
                "no plan that it can run fits in memory; the closest, TP 8 x PP 1 x DP 8, needs "));
  CHECK(plans_of(answer, "checkpoint").reason.empty());
  CHECK(plans_of(answer, "checkpoint").plans.size() == 1);
}

TEST_CASE("plan: a policy that needs more memory gets plans that fit with it") {
  // As above, elastic_dp shards over the GPUs of a replica group only: with two or four stages a replica
  // takes more GPUs, and it fits.
  const PlanAnswer answer =
      answer_to(small_question({{"/model", "llama3-70b"},
                                {"/search", R"({"tp": [8], "pp": [1, 2, 4, 8], "cp": [1]})"},
                                {"/plans", "1"},
                                {"/spares", "[0]"},
                                {"/intervals", "[1]"},
                                {"/max_trials", "16"}}));
  REQUIRE_FALSE(plans_of(answer, "elastic_dp").plans.empty());
  CHECK(plans_of(answer, "elastic_dp").plans[0].parallel.pp > 1);
}

TEST_CASE("plan: each policy competes with its own plans, ranked by its own steps") {
  const PlanAnswer answer = answer_to(small_question({{"/plans", "3"}, {"/max_trials", "16"}}));
  REQUIRE(answer.policies.size() == 3);
  REQUIRE(answer.standings.size() == 3);
  for (const PolicyPlans& policy : answer.policies) {
    CAPTURE(policy.policy);
    REQUIRE_FALSE(policy.plans.empty());
    CHECK(policy.plans.size() <= 4);  // three, and one of the other family
    CHECK(std::ranges::any_of(policy.plans, [](const PolicyPlan& plan) { return plan.parallel.zero == 3; }));
    CHECK(std::ranges::any_of(policy.plans, [](const PolicyPlan& plan) { return plan.parallel.zero < 3; }));
    for (std::size_t i = 0; i < policy.plans.size(); ++i) {
      REQUIRE(policy.plans[i].step);
      if (i == 0 || i == 3) continue;
      CHECK(*policy.plans[i].step >= *policy.plans[i - 1].step);
      const ParallelPlan& plan = policy.plans[i].parallel;
      const ParallelPlan& faster = policy.plans[i - 1].parallel;
      CHECK(plan.tp * plan.pp * plan.cp != faster.tp * faster.pp * faster.cp);
    }
  }
  for (const PlanOption& option : answer.finishing) {
    const std::vector<PolicyPlan>& plans = plans_of(answer, option.policy).plans;
    CHECK(std::ranges::any_of(plans, [&](const PolicyPlan& plan) {
      return text_key(plan.parallel) == text_key(option.choice.parallel);
    }));
  }
  REQUIRE(answer.best);
  for (const PolicyStanding& standing : answer.standings) {
    REQUIRE(standing.best);
    if (standing.at_equal_nodes) CHECK(standing.at_equal_nodes->nodes_held == answer.best->nodes_held);
  }
  // Without spares hot_spare waits for repairs, and does not always finish.
  CHECK(std::ranges::count_if(answer.standings,
                              [](const PolicyStanding& one) { return one.at_equal_nodes.has_value(); }) >= 2);
}

TEST_CASE("plan: policies of models with experts get plans that they can run, or say why there is none") {
  const std::vector<config::Change> small = {
      {"/model", "mixtral-8x7b"},
      {"/cluster", "dgx-h200"},
      {"/gpus", "64"},
      {"/plans", "1"},
      {"/spares", "[0]"},
      {"/intervals", "[1]"},
      {"/max_trials", "16"},
      {"/tokens", "1e9"},
      {"/policies", R"({"lazarus": {"slots_per_gpu": 1}, "ds_ft": {}, "megatron": {}, "checkpoint": {}})"}};
  std::vector<config::Change> changes = small;
  changes.push_back({"/search", "{}"});
  const PlanAnswer answer = answer_to(small_question(changes));
  for (const PolicyPlans& policy : answer.policies) {
    CAPTURE(policy.policy);
    REQUIRE(policy.plans.size() == 1);
    const ParallelPlan& plan = policy.plans[0].parallel;
    if (policy.policy != "checkpoint") CHECK(plan.expert_tp() == 1);
    if (policy.policy == "ds_ft") CHECK(plan.pp == 1);
    if (policy.policy == "lazarus" || policy.policy == "ds_ft") CHECK(plan.zero == 0);
  }
  changes = small;
  changes.push_back({"/search", R"({"pp": [4]})"});
  const PlanAnswer staged = answer_to(small_question(changes));
  CHECK(plans_of(staged, "ds_ft").reason ==
        "/parallel/pp must be 1, not 4, because every node holds part of every layer");
  CHECK(plans_of(staged, "megatron").reason.empty());
  changes = small;
  changes.push_back({"/search", R"({"etp": [2], "tp": [2]})"});
  CHECK(plans_of(answer_to(small_question(changes)), "megatron").reason ==
        "/parallel/etp must be 1, not 2, because experts in slots are whole");
}

TEST_CASE("plan: a contest over a recording is one run, or starts at random moments, and a note says which") {
  // Of ten nodes one is away for an hour in ten. The job takes a day or so: three days are too few, ten are
  // enough.
  std::string text = "t_s,event,node\n";
  for (int node = 0; node < 10; ++node) text += "0,add,n" + std::to_string(node) + '\n';
  for (int hour = 5; hour < 240; hour += 10) {
    text += std::to_string(3600 * hour) + ",remove,n" + std::to_string(hour / 10 % 10) + '\n';
    text += std::to_string(3600 * hour + 3600) + ",add,n" + std::to_string(hour / 10 % 10) + '\n';
  }
  const TemporaryFile file("spot.csv", text);
  const auto answer_over = [&file](int seconds) {
    return answer_to(small_question({{"/failures", R"({"model": "trace", "file": ")" + file.path() +
                                                       R"(", "to_s": )" + std::to_string(seconds) + "}"},
                                     {"/max_trials", "16"}}));
  };
  const PlanAnswer once = answer_over(259'200);
  REQUIRE(once.notes.size() == 1);
  CHECK(once.notes[0].starts_with("one run, because every trial would replay "));
  REQUIRE(once.best);
  CHECK(once.trials == 1);
  CHECK(once.best->trials == 1);
  CHECK(!once.best->cost_usd->interval);
  CHECK(!once.best->jct_p95_s);
  const PlanAnswer random = answer_over(842'400);
  REQUIRE(random.notes.size() == 1);
  CHECK(random.notes[0].starts_with("each trial starts at a different moment of "));
  REQUIRE(random.best);
  CHECK(random.best->trials == 16);
}

TEST_CASE("plan: spares of a spot market are among the choices") {
  const PlanAnswer answer = answer_to(small_question(
      {{"/spot",
        R"({"failures": {"model": "hourly", "loss_probability": 0.02, "return_probability": 0.5}, "usd_per_node_hour": 2, "nodes": [4, 8]})"},
       {"/policies", R"({"checkpoint": {}})"},
       {"/plans", "1"}}));
  REQUIRE(answer.best);
  CHECK(answer.contenders == 3 * 3 * 3 * std::ssize(answer.simulated));  // spares x spot x intervals
  CHECK(answer.best->choice.spot_nodes > 0);  // a tenth of the price for a loss in 50 hours each
}

TEST_CASE("plan: what a policy adds to a plan has to leave the memory margin, too") {
  // ZeRO-3 over 64 GPUs fits into 60 % of the memory. elastic_dp shards within a node, over 8: 8.03 billion x
  // 18 bytes over 8 GPUs are 16.8 GiB a GPU, not 2.1.
  const char* const search = R"({"tp": [1], "pp": [1], "cp": [1], "zero": [3], "recompute": ["none"]})";
  const PlanAnswer wide = answer_to(small_question({{"/search", search}, {"/max_trials", "16"}}));
  CHECK(plans_of(wide, "elastic_dp").reason.empty());
  const PlanAnswer narrow =
      answer_to(small_question({{"/search", search}, {"/max_trials", "16"}, {"/memory_margin", "0.4"}}));
  REQUIRE(narrow.best);
  CHECK(plans_of(narrow, "elastic_dp")
            .reason.starts_with(
                "no plan that it can run fits in memory; the closest, TP 1 x PP 1 x DP 64, needs "));
}

TEST_CASE("plan: spares of policies that keep to the plan never train, those of elastic_dp do") {
  // 8 GPUs, and one spare node: twice as many could train.
  const std::vector<config::Change> small = {
      {"/gpus", "8"},     {"/plans", "1"},       {"/spares", "[1]"},      {"/intervals", "[1]"},
      {"/tokens", "2e9"}, {"/max_trials", "16"}, {"/memory_margin", "0"}, {"/deadline", "30d"}};
  for (const char* policy : {"checkpoint", "hot_spare", "gemini", "megatron"}) {
    INFO(policy);
    std::vector<config::Change> changes = small;
    changes.push_back({"/policies", fmt::format(R"({{"{}": {{}}}})", policy)});
    const PlanAnswer answer = answer_to(small_question(changes));
    REQUIRE(answer.best);
    CHECK(answer.best->nodes_held == 2);
    CHECK(answer.best->training_nodes->mean == 1);
  }
  std::vector<config::Change> changes = small;
  changes.push_back({"/policies", R"({"elastic_dp": {}})"});
  const PlanAnswer answer = answer_to(small_question(changes));
  REQUIRE(answer.best);
  CHECK(answer.best->training_nodes->mean > 1.5);
  CHECK(answer.best->training_nodes->mean <= 2);
}

TEST_CASE("plan: rows of cost against time have the trials of the answer, and their probabilities") {
  const PlanAnswer answer = answer_to(small_question({{"/deadline", "30h@95%"}}));
  REQUIRE(answer.best);
  REQUIRE(answer.pareto.size() >= 2);
  for (const PlanOption& row : answer.pareto) {
    CHECK(row.trials == answer.best->trials);
    CHECK(row.cost_usd->interval);
    CHECK(row.p_deadline);
  }
}

TEST_CASE("plan: checkpoints keep storage busy for a quarter of the time at most") {
  const PlanQuestion question = small_question({{"/policies", R"({"gemini": {}})"},
                                                {"/storage_gb_per_s", "1"},
                                                {"/plans", "1"},
                                                {"/spares", "[1]"},
                                                {"/max_trials", "16"}});
  const PlanAnswer answer = answer_to(question);
  REQUIRE(answer.best);
  // 8.03 billion parameters x 14 bytes at 1 GB/s are 112 s.
  const double write_s = 14 * 8.03e9 / 1e9;
  for (const PlanOption& option : answer.finishing) CHECK(option.interval_s >= write_s / 0.25 * 0.99);
  // Gemini's optimum is far below: intervals that would be equal are one choice.
  CHECK(answer.contenders < 3 * std::ssize(answer.simulated));
}

TEST_CASE("plan: storage that nobody gives is assumed by the nodes that train") {
  std::vector<config::Change> changes = {{"/gpus", "64"}};
  const PlanQuestion given = small_question(changes);
  CHECK_FALSE(given.assumes_storage);
  CHECK(given.storage_gb_per_s == 5);
  const auto assumed = read_plan_question("",
                                          {{"/model", "llama3-8b"},
                                           {"/cluster", "dgx-h100"},
                                           {"/gpus", "64"},
                                           {"/tokens", "40e9"},
                                           {"/batch", "256"},
                                           {"/sequence_length", "8192"},
                                           {"/usd_per_node_hour", "20"},
                                           {"/failures", "rsc-1"}},
                                          config::Library{{GOODPUT_CONFIGS}});
  REQUIRE(assumed);
  CHECK(assumed->assumes_storage);
  CHECK(assumed->storage_gb_per_s == 4);  // 0.5 for each of 8 nodes
}

TEST_CASE("plan: what checkpoints write to storage costs what a terabyte costs") {
  const auto cost = [](const char* usd_per_tb) {
    const PlanAnswer answer = answer_to(small_question({{"/policies", R"({"hot_spare": {}})"},
                                                        {"/plans", "1"},
                                                        {"/spares", "[1]"},
                                                        {"/intervals", "[1]"},
                                                        {"/max_trials", "16"},
                                                        {"/usd_per_tb_written", usd_per_tb}}));
    REQUIRE(answer.best);
    return std::pair(answer.best->cost_usd->mean, answer.best->stored_bytes->mean);
  };
  const auto [free, bytes] = cost("0");
  const auto [priced, same] = cost("3");
  CHECK(bytes == same);
  CHECK(priced == doctest::Approx(free + 3 * bytes / 1e12).epsilon(1e-9));
}

}  // namespace goodput
