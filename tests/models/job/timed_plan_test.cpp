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

}  // namespace

TEST_CASE("timed plan: its cluster has the nodes that the job uses") {
  const auto timed = timed_plan();
  CHECK(timed->plan().cluster.nodes == 12);
  CHECK(timed->own_step() == timed->steps().planned(timed->plan().parallel).value());
}

TEST_CASE("timed plan: step times are those of the model, in any order and however often") {
  const auto timed = timed_plan();
  for (int again = 0; again < 2; ++again) {
    for (const StepSettings& settings : different_settings()) {
      for (const std::int32_t nodes : {8, 10}) {
        CHECK(timed->dense(nodes, settings).value() == timed->steps().dense(nodes, settings).value());
        for (const std::size_t window : {std::size_t{0}, std::size_t{1}}) {
          const auto loads = timed->routing().loads(window);
          CHECK(timed->expert_parallel(nodes, 8, window, settings).value() ==
                timed->steps().expert_parallel(nodes, {8}, loads, settings).value());
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
