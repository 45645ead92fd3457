// What recovery policies come to in the mean: against Daly's formula, and against themselves under better
// conditions. Trials of two settings face the same failures.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/checkpoint/save_interval.h"
#include "models/failure/failure_models.h"
#include "sim/base/random.h"
#include "tests/support/daly_time.h"
#include "tests/support/failure_case.h"
#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

std::vector<FailureConfig> exponential(NodeId nodes, double mtbf_hours, double repair_s) {
  return failures_from(
      fmt::format(R"({{"model": "exponential", "nodes": {}, "mtbf_hours": {}, "repair_s": {}}})", nodes,
                  mtbf_hours, repair_s));
}

std::vector<JobResult> trials_of(PolicyCase& job, const JobGoal& goal,
                                 const std::vector<FailureConfig>& failures, std::uint64_t trials) {
  std::vector<JobResult> results;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    auto model = make_failure_model(failures, {}, 1, trial);
    REQUIRE(model);
    results.push_back(job.run(goal, **model));
  }
  return results;
}

double mean(const std::vector<JobResult>& results, const std::function<double(const JobResult&)>& value) {
  double sum = 0;
  for (const JobResult& result : results) sum += value(result);
  return sum / static_cast<double>(results.size());
}
double mean_samples(const std::vector<JobResult>& results) {
  return mean(results, [](const JobResult& result) { return static_cast<double>(result.samples); });
}
double mean_wall_s(const std::vector<JobResult>& results) {
  return mean(results, [](const JobResult& result) { return result.wall_s(); });
}

// A job of one node that fails every M seconds on average, is back at once and restarts in R; a checkpoint
// takes d.
struct DalyCase {
  FailureCosts costs;

  [[nodiscard]] PolicyCase saving_every(std::int64_t interval) const {
    const double gigabytes = 1e-9 * static_cast<double>(module_bytes(gpt_s(1)->modules(), 14).total().value);
    return {"checkpoint",
            fmt::format(R"({{"restart": {{"detect_s": {}, "startup_s": 0}},
                             "checkpoint": {{"interval_steps": {}, "write_gb_per_s": {}, "read_gb_per_s": 1e12}}}})",
                        costs.restart_s, interval, gigabytes / costs.save_s),
            gpt_s(1)};
  }
  [[nodiscard]] std::vector<FailureConfig> failures() const { return exponential(1, costs.mtbf_s / 3600, 0); }
  // Daly's time for each of the intervals; nothing is saved after the last one.
  [[nodiscard]] double expected_s(double interval_s, std::int64_t intervals) const {
    FailureCosts unsaved = costs;
    unsaved.save_s = 0;
    return expected_time_s(costs, interval_s, interval_s * static_cast<double>(intervals - 1)) +
           expected_time_s(unsaved, interval_s, interval_s);
  }
};

constexpr FailureCosts kDalyRows[] = {{10800, 60, 300}, {6491, 60, 300}, {600, 10, 60}, {3600, 300, 600}};

}  // namespace

TEST_CASE("checkpoint policy: with exponential failures runs take as long as Daly says") {
  constexpr std::uint64_t kTrials = 100;
  for (const FailureCosts& costs : kDalyRows) {
    const DalyCase daly{costs};
    const double step = to_seconds(daly.saving_every(1).step(1));
    for (const double factor : {0.4, 1.0, 2.0}) {
      const auto interval = std::llround(factor * optimal_interval_s(costs) / step);
      const double interval_s = static_cast<double>(interval) * step;
      const std::int64_t intervals = std::llround(40 * costs.mtbf_s / interval_s);
      PolicyCase job = daly.saving_every(interval);
      const auto results = trials_of(job, steps(interval * intervals), daly.failures(), kTrials);
      const double wall = mean_wall_s(results);
      const double variance = mean(results, [wall](const JobResult& result) {
        return (result.wall_s() - wall) * (result.wall_s() - wall);
      });
      const double error = std::sqrt(variance / (kTrials - 1));
      const double expected = daly.expected_s(interval_s, intervals);
      CAPTURE(costs.mtbf_s);
      CAPTURE(factor);
      CHECK(std::abs(wall - expected) < 3 * error);
      CHECK(error < 0.01 * expected);  // it means something
    }
  }
}

TEST_CASE("checkpoint policy: the interval that is found by trying is Daly's optimum" *
          doctest::test_suite("release-only")) {
  constexpr std::uint64_t kTrials = 40;
  constexpr int kReach = 8;  // tried: 0.7 to 1.4 times the optimum, evenly in the logarithm
  for (const FailureCosts& costs : kDalyRows) {
    const DalyCase daly{costs};
    const double step = to_seconds(daly.saving_every(1).step(1));
    const double best = optimal_interval_s(costs);
    const std::int64_t work = std::llround(2000 * costs.mtbf_s / step);
    // The parabola through wall-clock time over the logarithm of the interval, by least squares; overhead is
    // a/t + b t, a hyperbolic cosine in it.
    double s2 = 0, s4 = 0, w0 = 0, w1 = 0, w2 = 0;
    double least = 1e300;
    for (int i = -kReach; i <= kReach; ++i) {
      const double x = std::log(1.4) * i / kReach;
      PolicyCase job = daly.saving_every(std::llround(best * std::exp(x) / step));
      const double wall = mean_wall_s(trials_of(job, steps(work), daly.failures(), kTrials));
      least = std::min(least, wall);
      s2 += x * x, s4 += x * x * x * x, w0 += wall, w1 += wall * x, w2 += wall * x * x;
    }
    const double points = 2 * kReach + 1;
    const double slope = w1 / s2;
    const double curvature = (w2 - w0 * s2 / points) / (s4 - s2 * s2 / points);
    const double found = best * std::exp(-slope / (2 * curvature));
    CAPTURE(costs.mtbf_s);
    CHECK(curvature > 0);
    CHECK(found == doctest::Approx(best).epsilon(0.01));
    CHECK(static_cast<double>(work) * step / least ==
          doctest::Approx(checkpoint_efficiency(costs, best)).epsilon(0.01));
    MESSAGE(fmt::format("M {}: {:.2f} s, true {:.2f} s", costs.mtbf_s, found, best));
  }
}

TEST_CASE("recovery policies: fewer failures and quicker storage never train less in the mean" *
          doctest::test_suite("slow")) {
  const auto samples = [](const std::string& policy, double mtbf_hours, double write, double read) {
    PolicyCase job(policy, fmt::format(R"({{"checkpoint": {{"write_gb_per_s": {}, "read_gb_per_s": {}}}}})",
                                       write, read));
    const auto results = trials_of(job, until(std::chrono::hours{12}), exponential(10, mtbf_hours, 600), 20);
    return mean_samples(results);
  };
  for (const std::string policy : {"checkpoint", "ds", "pec"}) {
    CAPTURE(policy);
    double before = 0;
    for (const double mtbf_hours : {1., 2., 4., 8., 16., 32., 64., 1000.}) {
      const double now = samples(policy, mtbf_hours, 1, 1);
      CHECK_MESSAGE(now > before, "MTBF " << mtbf_hours);
      before = now;
    }
    before = 0;
    for (const double bandwidth : {0.25, 0.5, 1., 2., 4., 16.}) {
      const double now = samples(policy, 8, bandwidth, 1);
      CHECK_MESSAGE(now > before, "writing " << bandwidth);
      before = now;
    }
    before = 0;
    for (const double bandwidth : {0.01, 0.1, 1., 10.}) {
      const double now = samples(policy, 8, 1, bandwidth);
      CHECK_MESSAGE(now > before, "reading " << bandwidth);
      before = now;
    }
  }
}

TEST_CASE("lazarus policy: the best placement restarts no more often than the paper's" *
          doctest::test_suite("release-only")) {
  // Shares ~ 1 / rank, in an order of its own for each layer.
  std::vector<std::int64_t> layers, loads;
  RoutingSelection selection;
  selection.experts = 8;
  for (std::size_t layer = 0; layer < 12; ++layer) {
    layers.push_back(static_cast<std::int64_t>(layer));
    selection.layers.push_back(layer);
    std::vector<std::int64_t> shares;
    for (std::int64_t rank = 1; rank <= 8; ++rank) shares.push_back(84'000 / rank);
    RandomStream random(layer, "order");
    for (std::size_t i = 8; i > 1; --i) std::swap(shares[i - 1], shares[random.below(i)]);
    loads.insert(loads.end(), shares.begin(), shares.end());
  }
  const auto job = [&](const std::string& plan) {
    auto routing = JobRouting::from_trace(RoutingTrace({0}, layers, 8, loads), selection);
    REQUIRE(routing);
    return PolicyCase("lazarus", "{\"slots_per_gpu\": 4, " + plan + "}",
                      job_of(gpt_s_plan(10), *std::move(routing), JobStart::kRunning));
  };
  PolicyCase paper = job(R"("allocation": "eq1", "plan": "mro")");
  PolicyCase best = job(R"("allocation": "balanced", "plan": "best")");
  constexpr std::uint64_t kTrials = 300;
  std::int64_t of_paper = 0;
  std::int64_t of_best = 0;
  for (std::size_t losses = 2; losses <= 7; ++losses) {
    std::int64_t paper_here = 0;
    std::int64_t best_here = 0;
    for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
      RandomStream random(trial, "losses", losses);
      std::vector<NodeId> nodes(10);
      std::iota(nodes.begin(), nodes.end(), 0);
      for (std::size_t i = 10; i > 1; --i) std::swap(nodes[i - 1], nodes[random.below(i)]);
      nodes.resize(losses);
      std::sort(nodes.begin(), nodes.end());
      NodeEvents events = held(10);
      for (const NodeId node : nodes) events.push_back(lost(seconds{30}, node));
      paper_here += paper.run(until(seconds{200}), events).count(Cause::kRestart);
      best_here += best.run(until(seconds{200}), events).count(Cause::kRestart);
    }
    CAPTURE(losses);
    CHECK(best_here <= paper_here);
    of_paper += paper_here;
    of_best += best_here;
    MESSAGE(fmt::format("{} of 10 nodes lost: restarts {} (best) against {} (paper) of {}", losses, best_here,
                        paper_here, kTrials));
  }
  CHECK(of_best < of_paper);
}

}  // namespace goodput::testing
