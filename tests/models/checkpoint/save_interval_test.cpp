#include "models/checkpoint/save_interval.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "sim/base/errors.h"
#include "sim/base/random.h"
#include "sim/job/job_engine.h"
#include "sim/nodes/failure_model.h"
#include "tests/support/daly_time.h"
#include "tests/support/plain_restarts.h"

namespace goodput {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// From the formulas of Young and Daly, computed separately: to two decimals, the efficiency to five.
struct Row {
  FailureCosts costs;
  double young, daly_first_order, daly, optimum, efficiency;
};
constexpr Row kRows[] = {{{10800, 60, 300}, 1138.42, 1094.12, 1098.77, 1098.78, 0.87365},
                         {{6491, 60, 300}, 882.56, 842.73, 843.02, 843.03, 0.83082},
                         {{600, 10, 60}, 109.54, 104.89, 102.98, 102.98, 0.74953},
                         {{3600, 300, 600}, 1469.69, 1287.45, 1276.50, 1276.88, 0.54624}};

bool agree(double got, double want, double digit) {
  return std::abs(got - want) <= 0.5 * digit * (1 + 1e-9);
}

// Bisection of the derivative's sign in long double, from the formula of the efficiency as it stands:
// d/dt ln(t / (e^((t+d)/M) - 1)) = 1/t - e^((t+d)/M) / (M (e^((t+d)/M) - 1)).
double optimum_by_bisection(const FailureCosts& costs) {
  const long double m = costs.mtbf_s;
  const long double d = costs.save_s;
  long double low = 0;
  long double high = m;
  for (int i = 0; i < 200; ++i) {
    const long double t = (low + high) / 2;
    const long double rest = -std::expm1(-(t + d) / m);
    (rest * m > t ? low : high) = t;
  }
  return static_cast<double>(low);
}

// One node, which is replaced at once whenever it fails.
class ExponentialFailures final : public FailureModel {
 public:
  ExponentialFailures(double mtbf_s, std::uint64_t trial) : mtbf_s_(mtbf_s), random_(1, "failures", trial) {}

  [[nodiscard]] NodeId nodes() const override { return 1; }
  [[nodiscard]] std::optional<NodeEvent> next() override {
    if (is_there_) time_ += from_seconds(random_.exponential(1 / mtbf_s_));
    is_there_ = !is_there_;
    return NodeEvent{time_, is_there_ ? NodeEvent::Kind::kAdd : NodeEvent::Kind::kRemove, 0, 1};
  }

 private:
  double mtbf_s_;
  RandomStream random_;
  SimTime time_{};
  bool is_there_ = false;
};

constexpr std::int64_t kIntervals = 20;

// Of so many intervals of 100 steps.
double simulated_time_s(const FailureCosts& costs, double interval_s, std::uint64_t trial) {
  testing::PlainRestartTimes plan;
  plan.step = from_seconds(interval_s / 100);
  plan.checkpoints[1] = {100, from_seconds(costs.save_s), {}};
  plan.restart = from_seconds(costs.restart_s);
  ExponentialFailures failures(costs.mtbf_s, trial);
  testing::PlainRestarts policy(plan);
  JobGoal goal;
  goal.steps = 100 * kIntervals;
  return run_job(goal, {}, failures, policy).wall_s();
}

}  // namespace

TEST_CASE("checkpoint interval: Young, Daly, the optimum and its efficiency are as published") {
  for (const Row& row : kRows) {
    CAPTURE(row.costs.mtbf_s);
    CHECK(agree(young_interval_s(row.costs), row.young, 0.01));
    CHECK(agree(daly_first_order_interval_s(row.costs), row.daly_first_order, 0.01));
    CHECK(agree(daly_interval_s(row.costs), row.daly, 0.01));
    CHECK(agree(optimal_interval_s(row.costs), row.optimum, 0.01));
    CHECK(agree(checkpoint_efficiency(row.costs, optimal_interval_s(row.costs)), row.efficiency, 1e-5));
  }
}

TEST_CASE("checkpoint interval: the optimum is where the exact efficiency no longer rises, to 1e-9") {
  for (double save = 1e-9; save < 1e3; save *= 1.7) {
    const FailureCosts costs{3600, save * 3600, 10};
    CAPTURE(save);
    CHECK(optimal_interval_s(costs) == doctest::Approx(optimum_by_bisection(costs)).epsilon(1e-9));
  }
}

TEST_CASE("checkpoint interval: no interval beats the optimum") {
  for (const Row& row : kRows) {
    const double best = checkpoint_efficiency(row.costs, optimal_interval_s(row.costs));
    for (double interval = 1; interval < 20'000; interval *= 1.01)
      CHECK(checkpoint_efficiency(row.costs, interval) <= best);
  }
}

TEST_CASE("checkpoint interval: expected time is the work over the efficiency") {
  const FailureCosts costs{600, 10, 60};
  CHECK(expected_time_s(costs, 100, 12'345) ==
        doctest::Approx(12'345 / checkpoint_efficiency(costs, 100)).epsilon(1e-14));
  CHECK(expected_time_s(costs, 100, 0) == 0);
  // 600 e^(1/10) (e^(110/600) - 1) for 100 s of work.
  CHECK(expected_time_s(costs, 100, 100) == doctest::Approx(133.4260115).epsilon(1e-9));
}

TEST_CASE("checkpoint interval: simulated runs take Daly's time on average, within 3 standard errors") {
  for (const Row& row : kRows) {
    CAPTURE(row.costs.mtbf_s);
    constexpr int kTrials = 4000;
    double sum = 0;
    double squares = 0;
    for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
      const double time = simulated_time_s(row.costs, row.optimum, trial);
      sum += time;
      squares += time * time;
    }
    const double mean = sum / kTrials;
    const double error = std::sqrt((squares / kTrials - mean * mean) / (kTrials - 1));
    // The checkpoint at the end of the job is not waited for.
    const FailureCosts last{row.costs.mtbf_s, 0, row.costs.restart_s};
    const double expected = expected_time_s(row.costs, row.optimum, (kIntervals - 1) * row.optimum) +
                            expected_time_s(last, row.optimum, row.optimum);
    CHECK(std::abs(mean - expected) < 3 * error);
    CHECK(error < 0.01 * expected);  // so that it says something
  }
}

TEST_CASE("checkpoint interval: the optimum does not depend on the restart time") {
  CHECK(optimal_interval_s({600, 10, 60}) == optimal_interval_s({600, 10, 0}));
}

TEST_CASE("checkpoint interval: where saving takes no time, save after every step") {
  const FailureCosts costs{600, 0, 60};
  CHECK(optimal_interval_s(costs) == 0);
  CHECK(young_interval_s(costs) == 0);
  for (const IntervalRule rule : {IntervalRule::kYoung, IntervalRule::kDaly, IntervalRule::kOptimal})
    CHECK(interval_steps(rule, costs, 0.5) == 1);
}

TEST_CASE(
    "checkpoint interval: where saving takes longer than failures let it, Daly says the mean time between") {
  CHECK(daly_interval_s({100, 200, 0}) == 100);
  CHECK(daly_interval_s({100, 5000, 0}) == 100);
  CHECK(daly_first_order_interval_s({100, 500, 0}) == 0);
  CHECK(optimal_interval_s({100, 5000, 0}) == doctest::Approx(100));  // M (1 - e^(-51)) and a little
  CHECK(optimal_interval_s({1, 1e6, 0}) == 1);
}

TEST_CASE("checkpoint interval: without failures there is nothing to save for") {
  const FailureCosts costs{kNever, 60, 300};
  CHECK(young_interval_s(costs) == kNever);
  CHECK(daly_first_order_interval_s(costs) == kNever);
  CHECK(daly_interval_s(costs) == kNever);
  CHECK(optimal_interval_s(costs) == kNever);
  CHECK(interval_steps(IntervalRule::kOptimal, costs, 1) == 0);
  CHECK(expected_time_s(costs, 600, 6000) == 6600);
  CHECK(checkpoint_efficiency(costs, 540) == 0.9);
}

TEST_CASE("checkpoint interval: in steps it is the nearest number, and a step at least") {
  const FailureCosts costs{10800, 60, 300};
  CHECK(interval_steps(IntervalRule::kYoung, costs, 10) == 114);    // 113.84
  CHECK(interval_steps(IntervalRule::kDaly, costs, 10) == 110);     // 109.88
  CHECK(interval_steps(IntervalRule::kOptimal, costs, 20) == 55);   // 54.94
  CHECK(interval_steps(IntervalRule::kOptimal, costs, 5000) == 1);  // 0.22
  CHECK(interval_steps(IntervalRule::kYoung, {1e300, 60, 0}, 1e-6) == kMostIntervalSteps);
}

TEST_CASE("checkpoint interval: what makes no sense is refused") {
  const FailureCosts costs{600, 10, 60};
  CHECK_THROWS_AS((void)interval_steps(IntervalRule::kFixed, costs, 1), InternalError);
  CHECK_THROWS_AS((void)interval_steps(IntervalRule::kYoung, costs, 0), InternalError);
  CHECK_THROWS_AS((void)young_interval_s({0, 10, 60}), InternalError);
  CHECK_THROWS_AS((void)optimal_interval_s({600, -1, 60}), InternalError);
  CHECK_THROWS_AS((void)daly_interval_s({600, 1, kNever}), InternalError);
  CHECK_THROWS_AS((void)expected_time_s(costs, 0, 100), InternalError);
}

TEST_CASE("checkpoint interval: every rule has a name") {
  CHECK(std::size(kIntervalRuleNames) == static_cast<std::size_t>(IntervalRule::kOptimal) + 1);
}

}  // namespace goodput
