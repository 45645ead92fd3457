// Step times that are computed once are those of the model, whoever asks.
#include "models/job/timed_plan.h"

#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

#include "models/routing/job_routing.h"
#include "sim/routing/routing_trace.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

// Two windows, of which the second has a hot expert.
JobRouting two_windows() {
  std::vector<std::int64_t> layers;
  std::vector<std::int64_t> loads;
  for (std::int64_t layer = 0; layer < 12; ++layer) layers.push_back(layer);
  for (int window = 0; window < 2; ++window) {
    for (int layer = 0; layer < 12; ++layer) {
      for (int expert = 0; expert < 8; ++expert) loads.push_back(window == 1 && expert == 0 ? 400 : 100);
    }
  }
  const RoutingTrace trace({0, 50}, layers, 8, loads);
  RoutingSelection selection;
  for (std::size_t layer = 0; layer < 12; ++layer) selection.layers.push_back(layer);
  selection.experts = 8;
  return JobRouting::from_trace(trace, selection).value();
}

std::unique_ptr<const TimedPlan> timed_plan() {
  return TimedPlan::make(gpt_s_plan(10), BatchRule::kFixed, two_windows()).value();
}

std::vector<StepSettings> different_settings() {
  StepSettings slow;
  slow.slowest_speed = 0.5;
  StepSettings overhead;
  overhead.step_overhead = std::chrono::seconds{2};
  StepSettings fast;
  fast.moe_speedup = 2;
  StepSettings dropless;
  dropless.dispatch = ExpertDispatch::kDropless;
  return {{}, slow, overhead, fast, dropless};
}

// Experts where they are numbered; with a replica of each on the next GPU; and on the one after that.
std::vector<ExpertParallelGroup> different_groups(const TimedPlan& timed) {
  std::vector<ExpertParallelGroup> groups = {{8}};
  for (const std::int32_t distance : {1, 2}) {
    ExpertPlacement layer{.experts = 8, .nodes = 8, .slots = 2};
    for (std::int32_t gpu = 0; gpu < 8; ++gpu) {
      const std::int32_t other = (gpu + distance) % 8;
      layer.expert_at.insert(layer.expert_at.end(), {std::min(gpu, other), std::max(gpu, other)});
    }
    groups.push_back({8, 1, std::vector(static_cast<std::size_t>(timed.steps().moe_layers()), layer)});
  }
  return groups;
}

}  // namespace

TEST_CASE("timed plan: its own step is that of the plan as it is written") {
  const auto timed = timed_plan();
  CHECK(timed->own_step() == timed->steps().planned(timed->plan().parallel).value());
}

TEST_CASE(
    "timed plan: with an error of its prices steps take that much longer, as if they were timed again") {
  const auto right = timed_plan();
  TrainingPlan plan = right->plan();
  plan.assumed_error = FamilyError{family_of(plan, plan.parallel), 1.3};
  const auto again = TimedPlan::make(plan, BatchRule::kFixed, two_windows()).value();
  const auto scaled = TimedPlan::with_error(plan, BatchRule::kFixed, two_windows(), *right).value();
  // Each of some 1000 ops is rounded to a nanosecond.
  const auto is_same = [](const StepTime& a, const StepTime& b) {
    return std::abs((a.step - b.step).count()) <= 2000 && a.samples == b.samples && a.tier == b.tier &&
           std::abs((a.forward_backward - b.forward_backward).count()) <= 2000;
  };
  CHECK(to_seconds(again->own_step().step) ==
        doctest::Approx(1.3 * to_seconds(right->own_step().step)).epsilon(1e-5));
  CHECK(is_same(scaled->own_step(), again->own_step()));
  for (const StepSettings& settings : different_settings()) {
    CHECK(is_same(scaled->dense(8, settings).value(), again->dense(8, settings).value()));
    for (const ExpertParallelGroup& group : different_groups(*right)) {
      CHECK(is_same(scaled->expert_parallel(8, group, 1, settings).value(),
                    again->expert_parallel(8, group, 1, settings).value()));
    }
    CHECK(is_same(scaled->planned(plan.parallel, settings).value(),
                  again->planned(plan.parallel, settings).value()));
  }
}

TEST_CASE("timed plan: an error of another family of plans changes nothing") {
  const auto right = timed_plan();
  TrainingPlan plan = right->plan();
  StepFamily other = family_of(plan, plan.parallel);
  plan.assumed_error = FamilyError{other, 1.3};
  CHECK(price_factor(plan) == 1.3);
  plan.parallel.zero = 3;
  CHECK((family_of(plan, plan.parallel) == other || price_factor(plan) == 1));
}

TEST_CASE("timed plan: step times are those of the model, in any order and however often") {
  const auto timed = timed_plan();
  for (int again = 0; again < 2; ++again) {
    for (const StepSettings& settings : different_settings()) {
      for (const std::int32_t nodes : {8, 10}) {
        CHECK(timed->dense(nodes, settings).value() == timed->steps().dense(nodes, settings).value());
        for (const std::size_t window : {std::size_t{0}, std::size_t{1}}) {
          const auto loads = timed->routing().loads(window);
          for (const ExpertParallelGroup& group : different_groups(*timed)) {
            CHECK(timed->expert_parallel(nodes, group, window, settings).value() ==
                  timed->steps().expert_parallel(nodes, group, loads, settings).value());
          }
        }
      }
    }
  }
  CHECK_FALSE(timed->dense(0, {}));
  CHECK(timed->dense(0, {}).error().what == timed->steps().dense(0, {}).error().what);
}

TEST_CASE("timed plan: any number of threads may ask") {
  const auto timed = timed_plan();
  const StepTime wanted = timed->steps().dense(10, {}).value();
  std::vector<StepTime> found(8);
  {
    std::vector<std::jthread> threads;
    for (StepTime& one : found) threads.emplace_back([&] { one = timed->dense(10, {}).value(); });
  }
  for (const StepTime& one : found) CHECK(one == wanted);
}

}  // namespace goodput::testing
