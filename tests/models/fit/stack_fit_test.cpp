// Stacks fitted to steps whose stack is known, as what they take is predicted with it.
#include "models/fit/stack_fit.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace goodput {
namespace {

using doctest::Approx;

TrainingPlan base_plan() {
  const auto plan =
      read_training_plan(GOODPUT_CONFIGS "/plans/llama3-8b-h100.json", {.folders = {GOODPUT_CONFIGS}});
  REQUIRE_MESSAGE(plan, plan.error().message());
  return *plan;
}

// Steps of different mixtures of GEMMs, attention, memory and launches.
std::vector<MeasuredStep> steps_in(const SoftwareStack& truth, bool has_fp8 = false) {
  std::vector<MeasuredStep> steps;
  for (const std::int64_t sequence : {512, 4096, 32768}) {
    for (const int layers : {2, 8}) {
      for (const int hidden : {1024, 4096}) {
        TrainingPlan plan = base_plan();
        plan.model.layers = layers;
        plan.model.hidden = hidden;
        plan.parallel.dp = 8;
        plan.parallel.tp = plan.parallel.pp = plan.parallel.cp = 1;
        plan.parallel.global_batch = 16;
        plan.parallel.sequence_length = sequence;
        if (has_fp8 && layers == 8) plan.parallel.dtype = Dtype::kFp8;
        const auto seconds = step_seconds(plan, truth);
        REQUIRE(seconds);
        steps.push_back({std::move(plan), *seconds});
      }
    }
  }
  return steps;
}

SoftwareStack stack_with(KernelFactors factors) {
  SoftwareStack stack;
  stack.factors = factors;
  return stack;
}

double after(const StackFit& fit, FitParameter parameter) {
  for (const FittedParameter& one : fit.parameters) {
    if (one.parameter == parameter) return one.after;
  }
  FAIL("not fitted");
  return 0;
}

}  // namespace

TEST_CASE("stack fit: the factors that made the steps are found again") {
  const SoftwareStack truth = stack_with({.gemm = 0.7, .attention = 0.6, .memory = 0.8});
  const std::vector<MeasuredStep> steps = steps_in(truth);
  const auto fit = fit_stack(steps, SoftwareStack{});
  REQUIRE(fit);
  CHECK(mean_size(fit->before) > 0.2);
  CHECK(mean_size(fit->after) < 0.005);
  // The penalty on leaving the base is what keeps them from being exact.
  CHECK(after(*fit, FitParameter::kGemm) == Approx(0.7).epsilon(0.02));
  CHECK(after(*fit, FitParameter::kAttention) == Approx(0.6).epsilon(0.02));
  CHECK(after(*fit, FitParameter::kMemory) == Approx(0.8).epsilon(0.05));
  CHECK(fit->bad_rows.empty());
}

TEST_CASE("stack fit: fp8 has a factor of its own where steps are in fp8") {
  const SoftwareStack truth = stack_with({.gemm = 0.8, .fp8_gemm = 0.5});
  const auto fit = fit_stack(steps_in(truth, true), SoftwareStack{},
                             {.parameters = {FitParameter::kGemm, FitParameter::kFp8Gemm}, .without = {}});
  REQUIRE(fit);
  CHECK(mean_size(fit->after) < 0.01);
  CHECK(after(*fit, FitParameter::kFp8Gemm) == Approx(0.5).epsilon(0.03));
  CHECK(factors_for(fit->stack, "H100").fp8_gemm == Approx(0.5).epsilon(0.03));
  // Without such steps it moves with that of 16 bits.
  const auto plain = fit_stack(steps_in(truth), stack_with({.gemm = 1, .fp8_gemm = 0.9}));
  REQUIRE(plain);
  CHECK(*plain->stack.factors.fp8_gemm / *plain->stack.factors.gemm == Approx(0.9));
}

TEST_CASE("stack fit: at most four numbers change, and those that are asked for alone") {
  const SoftwareStack truth = stack_with({.gemm = 0.7, .fp8_gemm = 0.6, .attention = 0.7, .memory = 0.7});
  std::vector<MeasuredStep> steps = steps_in(truth, true);
  const auto all_of = [](const std::vector<MeasuredStep>& rows) {
    return fit_stack(rows, SoftwareStack{}).value();
  };
  // One for every two rows.
  CHECK(all_of({steps.begin(), steps.begin() + 4}).parameters.size() == 2);
  CHECK(all_of(steps).parameters.size() == kMostFitted);
  const auto one = fit_stack(steps, SoftwareStack{}, {.parameters = {FitParameter::kMemory}, .without = {}});
  REQUIRE(one);
  CHECK(one->parameters.size() == 1);
  CHECK_FALSE(one->stack.factors.gemm);
  CHECK(mean_size(one->after) < mean_size(one->before));
}

TEST_CASE("stack fit: a time that is ten times too long is named and does not move the fit") {
  const SoftwareStack truth = stack_with({.gemm = 0.7, .attention = 0.6, .memory = 0.8});
  std::vector<MeasuredStep> steps = steps_in(truth);
  const auto clean = fit_stack(steps, SoftwareStack{});
  steps[4].seconds *= 10;
  const auto fit = fit_stack(steps, SoftwareStack{});
  REQUIRE(fit);
  CHECK(fit->bad_rows == std::vector<std::size_t>{4});
  CHECK(after(*fit, FitParameter::kGemm) == Approx(after(*clean, FitParameter::kGemm)).epsilon(0.02));
  CHECK(fit->after[4] == Approx(-0.9).epsilon(0.02));
}

TEST_CASE("stack fit: five steps with one ten times too short still find the factor of GEMMs") {
  const SoftwareStack truth = stack_with({.gemm = 0.6});
  std::vector<MeasuredStep> steps = steps_in(truth);
  steps = {steps[3], steps[5], steps[7], steps[9], steps[11]};
  steps[2].seconds /= 10;
  const auto fit = fit_stack(steps, SoftwareStack{});
  REQUIRE(fit);
  CHECK(fit->bad_rows == std::vector<std::size_t>{2});
  CHECK(after(*fit, FitParameter::kGemm) == Approx(0.6).epsilon(0.06));
}

TEST_CASE("stack fit: a factor stops at the bound of what is physical, and says so") {
  const auto fit = fit_stack(steps_in(stack_with({.memory = 0.2})), SoftwareStack{},
                             {.parameters = {FitParameter::kMemory}, .without = {}});
  REQUIRE(fit);
  // The bound is 0.5; rows that scatter as much keep a part of the base.
  CHECK(after(*fit, FitParameter::kMemory) < 0.6);
  CHECK(fit->parameters[0].is_at_bound);
}

TEST_CASE("stack fit: a stack whose efficiencies are given, not factors, cannot be fitted") {
  SoftwareStack given;
  for (std::optional<double>& value : given.efficiency.values) value = 0.5;
  const auto fit = fit_stack(steps_in(SoftwareStack{}), given,
                             {.parameters = {FitParameter::kGemm, FitParameter::kMemory}, .without = {}});
  REQUIRE_FALSE(fit);
  CHECK(fit.error().message() ==
        "no parameter of the software stack affects these steps, so there is nothing to fit");
}

TEST_CASE("stack fit: rows left out are predicted without having been seen") {
  std::vector<MeasuredStep> steps = steps_in(stack_with({.gemm = 0.7}));
  std::vector<std::string> groups;
  for (const MeasuredStep& step : steps) groups.push_back(fmt::format("{}", step.plan.model.hidden));
  // The narrow model is measured 20 % slower than the truth: a fit to the wide one does not know.
  for (std::size_t row = 0; row < steps.size(); ++row) {
    if (groups[row] == "1024") steps[row].seconds *= 1.2;
  }
  const auto errors = left_out_errors(steps, groups, SoftwareStack{});
  REQUIRE(errors);
  for (std::size_t row = 0; row < steps.size(); ++row) {
    if (groups[row] == "1024") CHECK((*errors)[row] == Approx(1 / 1.2 - 1).epsilon(0.05));
  }
  // One group: each row is left out by itself. One row: the base predicts it.
  const std::vector<std::string> same(steps.size(), "x");
  CHECK(left_out_errors(steps, same, SoftwareStack{}).value().size() == steps.size());
  const auto alone = left_out_errors(std::span(steps).first(1), std::span(same).first(1), SoftwareStack{});
  REQUIRE(alone);
  CHECK((*alone)[0] == Approx(*step_seconds(steps[0].plan, {}) / steps[0].seconds - 1));
}

// Steps by random factors with 3 % of noise: five of them make the others better in the mean.
TEST_CASE("stack fit: five noisy steps improve the prediction of the others") {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> factor(0.6, 1);
  std::normal_distribution<double> noise(0, 0.03);
  double before = 0;
  double after_fit = 0;
  for (int draw = 0; draw < 8; ++draw) {
    const SoftwareStack truth =
        stack_with({.gemm = factor(random), .attention = factor(random), .memory = factor(random)});
    std::vector<MeasuredStep> steps = steps_in(truth);
    for (MeasuredStep& step : steps) step.seconds *= std::exp(noise(random));
    std::shuffle(steps.begin(), steps.end(), random);
    std::vector<std::size_t> rest;
    for (std::size_t row = 5; row < steps.size(); ++row) rest.push_back(row);
    const auto fit = fit_stack(steps, SoftwareStack{}, {.parameters = {}, .without = rest});
    REQUIRE(fit);
    before += mean_size(std::span(fit->before).subspan(5));
    after_fit += mean_size(std::span(fit->after).subspan(5));
  }
  MESSAGE(fmt::format("mean error of the others {:.1f} %, fitted {:.1f} %", 100 * before / 8,
                      100 * after_fit / 8));
  CHECK(after_fit < 0.4 * before);
}

}  // namespace goodput
