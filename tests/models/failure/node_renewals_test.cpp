// Exponential and Weibull failures: how often, and at whose age.
#include "models/failure/node_renewals.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "tests/models/failure/failure_stream.h"

namespace goodput::testing {
namespace {

using Kind = NodeEvent::Kind;

// Mean time between the first `failures` losses of the cluster, and between the start and the first.
double mean_between_losses_s(FailureModel& model, int failures) {
  for (;;) {
    const auto event = model.next();
    REQUIRE(event);
    if (event->kind == Kind::kRemove && --failures == 0) return to_seconds(event->time);
  }
}

// Losses in the first `seconds` of each of `trials`.
double mean_losses(std::string_view text, double seconds, int trials) {
  std::size_t losses = 0;
  for (int trial = 0; trial < trials; ++trial) {
    losses += count_of(events_of(text, seconds, static_cast<std::uint64_t>(trial)), Kind::kRemove);
  }
  return static_cast<double>(losses) / trials;
}

constexpr int kFailures = 40'000;

}  // namespace

TEST_CASE("exponential: a cluster fails every MTBF / nodes") {
  // Gaps are exponential: their mean over n has a standard error of 1 / sqrt(n) = 0.5 %.
  const auto model = failures_of(R"({"model": "exponential", "nodes": 64, "mtbf_hours": 100})");
  const double mean = mean_between_losses_s(*model, kFailures) / kFailures;
  CHECK(std::abs(mean / (100.0 * 3600 / 64) - 1) < 3 / std::sqrt(kFailures));
}

TEST_CASE("exponential: a node under repair cannot fail") {
  // One node, MTBF 1 h, repair 3 h: a failure every 4 h. The gap's variance is that of the exponential part,
  // 1 h^2, and with exponential repair 1 + 9: a standard error of 1/4 or sqrt(10)/4 over sqrt(n).
  const auto gap_hours = [](std::string_view repair) {
    const auto model = failures_of(fmt::format(
        R"({{"model": "exponential", "nodes": 1, "mtbf_hours": 1, "repair_s": 10800, "repair": "{}"}})",
        repair));
    return (mean_between_losses_s(*model, kFailures) / 3600 + 3) / kFailures;
  };
  CHECK(std::abs(gap_hours("fixed") / 4 - 1) < 3 * 0.25 / std::sqrt(kFailures));
  CHECK(std::abs(gap_hours("exponential") / 4 - 1) < 3 * std::sqrt(10) / 4 / std::sqrt(kFailures));
}

TEST_CASE("exponential: a repair that takes no time is a loss and a return at one moment") {
  const NodeEvents events = events_of(R"({"model": "exponential", "nodes": 3, "mtbf_hours": 1})", 1e5);
  REQUIRE(events.size() > 20);
  for (std::size_t i = 3; i + 1 < events.size(); i += 2) {
    CHECK(events[i].kind == Kind::kRemove);
    CHECK(events[i + 1] == NodeEvent{events[i].time, Kind::kAdd, events[i].node, 1});
  }
}

TEST_CASE("exponential: the published failure rates give the published times between failures") {
  // "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (Kokolis et al., 2024): 6.5
  // (RSC-1) and 2.34 (RSC-2) failures per 1000 node-days, nodes of 8 GPUs.
  // 16,384 GPUs = 2048 nodes: 24 h * 1000 / (6.5 * 2048) = 1.803 h.
  // 131,072 GPUs = 16,384 nodes: 24 h * 1000 / (6.5 * 16,384) = 0.2254 h = 13.52 min; at 2.34, 37.6 min.
  NodeLives lives;
  lives.failures_per_1000_node_days = 6.5;
  CHECK(mtbf_seconds(lives) / 3600 / 2048 == doctest::Approx(1.803).epsilon(3e-4));
  CHECK(mtbf_seconds(lives) / 60 / 16384 == doctest::Approx(13.52).epsilon(4e-4));
  lives.failures_per_1000_node_days = 2.34;
  CHECK(mtbf_seconds(lives) / 60 / 16384 == doctest::Approx(37.56).epsilon(4e-4));
  lives = {.mtbf_hours = 2};
  CHECK(mtbf_seconds(lives) == 7200);
  // And drawn: the mean of 10,000 exponential gaps is within 3 %, three standard errors.
  const auto model =
      failures_of(R"({"model": "exponential", "nodes": 2048, "failures_per_1000_node_days": 6.5})");
  CHECK(mean_between_losses_s(*model, 10'000) / 1e4 / 3600 == doctest::Approx(1.803).epsilon(0.03));
}

TEST_CASE("weibull: with ages kept, a cluster fails every MTBF / nodes over long runs") {
  // n losses of independent renewal processes: relative standard error c / sqrt(n), c^2 the squared
  // coefficient of variation of a life, Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1: 2.14 at k = 0.7, 0.46 at 1.5.
  //
  // Drawing all nodes anew at each failure would give M N^(-1/k) instead of M / N, a factor of N^(1 - 1/k):
  // of 64 nodes 0.17 at k = 0.7, and 4 at k = 1.5.
  for (const double k : {0.7, 1.5}) {
    INFO("shape " << k);
    const auto model =
        failures_of(fmt::format(R"({{"model": "weibull", "nodes": 64, "shape": {}, "mtbf_hours": 100}})", k));
    const double mean = mean_between_losses_s(*model, kFailures) / kFailures;
    const double c = std::sqrt(std::tgamma(1 + 2 / k) / std::pow(std::tgamma(1 + 1 / k), 2) - 1);
    CHECK(std::abs(mean / (100.0 * 3600 / 64) - 1) < 3 * c / std::sqrt(kFailures));
    const double all_anew = std::pow(64, 1 - 1 / k);
    CHECK(std::abs(std::log(all_anew)) > std::log(3.9));
  }
}

TEST_CASE("weibull: nodes that have been running for long fail every MTBF / nodes from the start" *
          doctest::test_suite("slow")) {
  // 20 nodes and a tenth of the MTBF: 2 losses of any shape; 2000 trials with a standard deviation below 2.5
  // each: 3 standard errors are 0.17.
  const auto text = [](double k, std::string_view age) {
    return fmt::format(
        R"({{"model": "weibull", "nodes": 20, "shape": {}, "mtbf_hours": 100, "initial_age": "{}"}})", k,
        age);
  };
  CHECK(mean_losses(text(0.7, "stationary"), 36'000, 2000) == doctest::Approx(2).epsilon(0.085));
  CHECK(mean_losses(text(1.5, "stationary"), 36'000, 2000) == doctest::Approx(2).epsilon(0.085));
  // New ones: the chance of a first loss is 1 - exp(-(0.1 Gamma(1 + 1/k))^k), 0.210 at k = 0.7 and 0.0267
  // at 1.5; second losses are rare at 1.5, and not at 0.7.
  CHECK(mean_losses(text(0.7, "new"), 36'000, 2000) > 20 * 0.210);
  CHECK(mean_losses(text(1.5, "new"), 36'000, 2000) == doctest::Approx(20 * 0.0267).epsilon(0.1));
}

TEST_CASE("weibull: shape 1 is exponential") {
  // Its lives are drawn as the exponential model's are; the residual of an exponential life is one again.
  CHECK(mean_losses(R"({"model": "weibull", "nodes": 20, "shape": 1, "mtbf_hours": 100})", 360'000, 500) ==
        doctest::Approx(20).epsilon(3 / std::sqrt(20.0 * 500)));
}

TEST_CASE("renewals: what lies beyond a century does not happen") {
  const NodeEvents events = events_of(R"({"model": "exponential", "nodes": 3, "mtbf_hours": 1e9})", 3e9);
  CHECK(count_of(events, Kind::kRemove) < 3);
}

TEST_CASE("repair times: every distribution has the stated mean") {
  // One node that fails all the time: the mean down time over n repairs has a standard error of deviation /
  // sqrt(n). The variance over the squared mean is 1 for exponential, Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1
  // = 2.14 for Weibull with k = 0.7, and exp(s^2) - 1 = 1.72 for lognormal with s = 1.
  struct Case {
    const char* repair;
    double relative_variance;
  };
  for (const Case& one :
       {Case{R"("fixed")", 0}, Case{R"("exponential")", 1}, Case{R"("weibull", "repair_shape": 0.7)", 2.14},
        Case{R"("lognormal", "repair_shape": 1)", 1.72}}) {
    CAPTURE(one.repair);
    const auto model = failures_of(fmt::format(
        R"({{"model": "exponential", "nodes": 1, "mtbf_hours": 1, "repair_s": 1000, "repair": {}}})",
        one.repair));
    double down = 0;
    std::optional<SimTime> since;
    for (int repairs = 0; repairs < kFailures;) {
      const auto event = model->next();
      REQUIRE(event);
      if (event->kind == Kind::kRemove) {
        since = event->time;
      } else if (since) {
        down += to_seconds(event->time - *since);
        ++repairs;
      }
    }
    CHECK(std::abs(down / kFailures / 1000 - 1) <= 4 * std::sqrt(one.relative_variance / kFailures) + 1e-9);
  }
}

TEST_CASE("exponential: bursts take nodes down besides their own failures") {
  // 10 groups of 8 nodes; 20 bursts per 1000 node-days on 80 nodes are 1.6 per day, 8 nodes each. Own
  // failures: 80 nodes at 1 per 1000 node-days, 0.08 per day. Over 100 days of 100 trials: 12.88 per day with
  // a standard error of sqrt(1.6 * 64 + 0.08) / 100 = 0.10.
  const double losses = mean_losses(
      R"({"model": "exponential", "nodes": 80, "failures_per_1000_node_days": 1,
          "bursts": {"per_1000_node_days": 20, "group_size": 8, "outage_s": 1}})",
      100 * 86400.0, 100);
  CHECK(std::abs(losses / 100 - (1.6 * 8 + 0.08)) < 0.4);
}

}  // namespace goodput::testing
