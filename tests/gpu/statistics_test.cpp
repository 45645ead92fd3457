#include "gpu/bench/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/base/random.h"

namespace goodput::gpu::bench {
namespace {

TEST_CASE("bench statistics: quantiles lie on the line between the samples around them") {
  // 1 2 3 4 10: the median is the third; p05 is at place 0.05 * 4 = 0.2, so 1 + 0.2 * (2 - 1); p95 is at
  // place 3.8, so 4 + 0.8 * (10 - 4).
  const Statistics odd = summarize({10, 3, 1, 4, 2});
  CHECK(odd.count == 5);
  CHECK(odd.median == 3);
  CHECK(odd.p05 == doctest::Approx(1.2));
  CHECK(odd.p95 == doctest::Approx(8.8));
  CHECK(odd.min == 1);
  CHECK(odd.mean == 4);
  // Squared distances from 4 are 36, 1, 9, 0, 4: variance 50 / 4.
  CHECK(odd.cv == doctest::Approx(std::sqrt(12.5) / 4));
  CHECK(summarize({4, 1, 3, 2}).median == 2.5);
}

TEST_CASE("bench statistics: one sample is every quantile and varies by nothing") {
  const Statistics one = summarize({7});
  CHECK(one.median == 7);
  CHECK(one.p05 == 7);
  CHECK(one.p95 == 7);
  CHECK(one.min == 7);
  CHECK(one.cv == 0);
  CHECK(median_cv({7}) == 0);
}

TEST_CASE("bench statistics: zeros have no variation instead of a division by zero") {
  CHECK(summarize({0, 0}).cv == 0);
  CHECK(median_cv({0, 0}) == 0);
}

TEST_CASE("bench statistics: no samples, or one that is not finite, is an error") {
  CHECK_THROWS_WITH_AS(static_cast<void>(summarize({})), "statistics: no samples", std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(median_cv({})), "statistics: no samples", std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(summarize({1, std::numeric_limits<double>::quiet_NaN()})),
                       "statistics: a sample is not finite", std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(summarize({std::numeric_limits<double>::infinity()})),
                       "statistics: a sample is not finite", std::invalid_argument);
}

TEST_CASE("bench statistics: whatever the samples, min <= p05 <= median <= p95 <= max") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "statistics");
    std::vector<double> samples(1 + random.below(60));
    for (double& sample : samples) sample = random.exponential(0.1);
    const Statistics statistics = summarize(samples);
    CHECK(statistics.min == *std::min_element(samples.begin(), samples.end()));
    CHECK(statistics.min <= statistics.p05);
    CHECK(statistics.p05 <= statistics.median);
    CHECK(statistics.median <= statistics.p95);
    CHECK(statistics.p95 <= *std::max_element(samples.begin(), samples.end()));
  }
}

TEST_CASE("bench statistics: the CV of the median is a quarter of the spread of sqrt(n) places each side") {
  // 1 .. 101: the middle is place 50, value 51; sqrt(101) / 2 = 5.025 places each way are 5.025 in value.
  std::vector<double> samples;
  for (int i = 1; i <= 101; ++i) samples.push_back(i);
  CHECK(median_cv(samples) == doctest::Approx(std::sqrt(101.0) / 2 / 51));
  // One wild sample does not move it.
  samples.back() = 1e9;
  CHECK(median_cv(samples) == doctest::Approx(std::sqrt(101.0) / 2 / 51));
}

TEST_CASE("bench statistics: medians of normal samples scatter as their CV of the median says") {
  RandomStream random(1, "median_cv");
  constexpr int kRounds = 2000;
  std::vector<double> medians;
  double estimate = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> samples(100);
    for (double& sample : samples) sample = random.normal(100, 5);
    medians.push_back(summarize(samples).median);
    estimate += median_cv(samples) / kRounds;
  }
  // Theory: sqrt(pi / 2) * 5 / sqrt(100) / 100 = 0.627 %; estimates of 100 samples are some percent off.
  CHECK(summarize(medians).cv == doctest::Approx(0.00627).epsilon(0.05));
  CHECK(estimate == doctest::Approx(0.00627).epsilon(0.08));
}

}  // namespace
}  // namespace goodput::gpu::bench
