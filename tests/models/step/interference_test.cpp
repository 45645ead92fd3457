// How much longer kernels take during collectives and on the slowest GPU.
#include "models/step/interference.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "models/cost/roofline.h"
#include "models/step/op_pricer.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/random.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using doctest::Approx;
using namespace std::chrono_literals;
using testing::small_plan;

// The GPU has 108 multiprocessors and 2 TB/s of memory bandwidth, of which kernels reach 80 %.
TrainingPlan plan_with_sms(double sms) {
  TrainingPlan plan = small_plan();
  plan.roofline.collective_sms = sms;
  plan.roofline.memory_efficiency = 0.8;
  return plan;
}

SimDuration interfered_step(const TrainingPlan& plan) {
  const RooflineCost cost(plan.cluster, plan.roofline);
  const auto step = build_planned_step(plan, cost, Granularity::kLayers, 0);
  REQUIRE(step);
  return step_time(*step);
}

}  // namespace

TEST_CASE("interference: the expected largest of n normal values agrees with tables and with draws") {
  // Tabulated means of the largest of n standard normal values (Harter, 1961).
  const std::array<std::pair<int, double>, 4> tabulated = {
      {{2, 0.56419}, {10, 1.53875}, {100, 2.50759}, {300, 2.87777}}};
  for (const auto& [n, value] : tabulated)
    CHECK(expected_largest(n) == Approx(value).epsilon(n < 10 ? 0.05 : 0.01));
  CHECK(expected_largest(1) == 0);
  RandomStream random(1, "largest");
  constexpr int kDraws = 2000;
  constexpr int kValues = 512;
  double sum = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double largest = random.normal(0, 1);
    for (int i = 1; i < kValues; ++i) largest = std::max(largest, random.normal(0, 1));
    sum += largest;
  }
  // Its deviation is about 0.37: that of the mean of 2000 is 0.008.
  CHECK(sum / kDraws == Approx(expected_largest(kValues)).epsilon(0.02));
}

TEST_CASE(
    "interference: a collective takes multiprocessors, and memory bandwidth from memory-bound kernels") {
  const Interference interference = interference_of(plan_with_sms(27));
  CHECK(interference.sms_share == 0.25);
  CHECK(interference.share_taken(1, 0) == 0.25);
  // 1.6e12 bytes per second is all the bandwidth: memory-bound kernels (a quarter of the time) lose all of
  // it, the others 25 %.
  CHECK(interference.share_taken(1, 1.6e12) == Approx(0.75 * 0.25 + 0.25 * 1));
  CHECK(interference.share_taken(1, 0.2e12) == Approx(0.25));  // an eighth is less than the multiprocessors
  CHECK(interference.share_taken(1, 1e15) == kMostTaken);
  CHECK_FALSE(interference_of(small_plan()).is_modelled());
  CHECK(interference_of(small_plan()).share_taken(1, 1e15) == 0);
  CHECK(interference_of(plan_with_sms(1e6)).sms_share == kMostTaken);
}

TEST_CASE("interference: C of computation and t of communication together take max(t, C + s t)") {
  const TrainingPlan plan = plan_with_sms(27);
  const RooflineCost cost(plan.cluster, plan.roofline);
  const OpPricer pricer(cost, interference_of(plan));
  const OpPricer free(cost);
  for (const auto computation : {0us, 10us, 74us, 75us, 76us, 200us}) {
    CAPTURE(computation.count());
    const Transfer transfer{100us, 4000, 0};
    const SimDuration together = computation + pricer.beside(transfer, computation).time;
    CHECK(together == std::max<SimDuration>(100us, computation + 25us));
    CHECK(computation + free.beside(transfer, computation).time == std::max<SimDuration>(100us, computation));
    // Only exposed bytes count as NIC traffic.
    CHECK(pricer.beside(transfer, computation).nic_bytes ==
          Approx(40.0 *
                 std::max<double>(0, 100 - std::chrono::duration<double, std::micro>(computation).count())));
  }
  // A fifth of it does not overlap.
  CHECK(pricer.beside({100us, 0, 0}, 1ms, 20us).time == 20us + 20us);
}

TEST_CASE("interference: without communication, the slowest GPU determines the step") {
  TrainingPlan plan = small_plan();
  plan.parallel.dp = 64;
  plan.parallel.global_batch = 64;
  plan.cluster.intra_node.bandwidth = plan.cluster.inter_node.bandwidth = {1e21};
  plan.cluster.intra_node.latency = plan.cluster.inter_node.latency = {};
  plan.cluster.intra_node.hop_latency = plan.cluster.inter_node.hop_latency = {};
  const double alike = to_seconds(interfered_step(plan));
  plan.roofline.speed_spread = 0.02;
  CHECK(to_seconds(interfered_step(plan)) == Approx(alike * (1 + 0.02 * expected_largest(64))).epsilon(1e-6));
}

TEST_CASE("interference: steps take longer with more replicas") {
  TrainingPlan plan = small_plan();
  plan.parallel.zero = 3;
  plan.parallel.overlap_grad_reduce = plan.parallel.overlap_param_gather = true;
  plan.parallel.micro_batch = 8;
  const auto growth = [&plan] {
    std::vector<double> seconds;
    for (const int replicas : {8, 32, 128, 512}) {
      plan.parallel.dp = replicas;
      plan.parallel.global_batch = std::int64_t{8} * replicas;
      seconds.push_back(to_seconds(interfered_step(plan)));
    }
    return seconds;
  };
  plan.roofline.speed_spread = 0.02;
  plan.roofline.collective_sms = 20;
  const std::vector<double> seconds = growth();
  CHECK(std::is_sorted(seconds.begin(), seconds.end()));
  CHECK(seconds.back() > 1.02 * seconds.front());
}

}  // namespace goodput
