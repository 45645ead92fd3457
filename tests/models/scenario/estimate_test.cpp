#include "models/scenario/estimate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

// P(low <= hits <= high), by adding up.
double binomial(std::int64_t low, std::int64_t high, std::int64_t trials, double probability) {
  double sum = 0;
  for (std::int64_t hits = low; hits <= high; ++hits) {
    const auto n = static_cast<double>(trials);
    const auto k = static_cast<double>(hits);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                    k * std::log(probability) + (n - k) * std::log1p(-probability));
  }
  return sum;
}

// 1, 2, ... count: the ends of an interval from order statistics are their ranks.
std::vector<double> ranks(std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

}  // namespace

TEST_CASE("estimates: the mean with Student's 95 % interval") {
  // 1, 2, 3, 4: mean 2.5, standard deviation sqrt(5/3); t of 3 degrees of freedom at 0.975 is 3.182446.
  const std::vector<double> values = {1, 2, 3, 4};
  const Estimate result = estimate_mean(values);
  CHECK(result.mean == 2.5);
  REQUIRE(result.interval);
  const double half = 3.182446305284263 * std::sqrt(5.0 / 3 / 4);
  CHECK((*result.interval)[0] == doctest::Approx(2.5 - half).epsilon(1e-12));
  CHECK((*result.interval)[1] == doctest::Approx(2.5 + half).epsilon(1e-12));
  CHECK(result.is_doubtful);
}

TEST_CASE("estimates: one value has no interval, equal ones have one of no width") {
  CHECK(estimate_mean(std::vector<double>{7}).mean == 7);
  CHECK_FALSE(estimate_mean(std::vector<double>{7}).interval);
  const Estimate same = estimate_mean(std::vector<double>{7, 7, 7});
  CHECK(*same.interval == std::array<double, 2>{7, 7});
  CHECK_FALSE(same.is_doubtful);
  CHECK_THROWS_AS((void)estimate_mean({}), InternalError);
}

TEST_CASE("estimates: the interval of a mean is not below 0 where no value is") {
  CHECK((*estimate_mean(std::vector<double>{0, 0, 3}).interval)[0] == 0);
  CHECK((*estimate_mean(std::vector<double>{0, -1e-9, 3}).interval)[0] < -1);
}

TEST_CASE("estimates: of normal values 95 % of the intervals have the mean inside") {
  // 300 samples of 4: 95 % with a standard error of 1.3 %, four of which are allowed.
  int covered = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed, "estimate_test");
    std::vector<double> values(4);
    for (double& value : values) value = random.normal(5, 2);
    const auto [low, high] = *estimate_mean(values).interval;
    covered += low <= 5 && 5 <= high ? 1 : 0;
  }
  CHECK(covered >= 270);
  CHECK(covered <= 300);
}

TEST_CASE("estimates: a share of none or all has the interval that can be solved by hand") {
  // 0 of n: (1 - high)^n = 0.025.
  for (const std::int64_t trials : {1, 10, 200}) {
    const double end = 1 - std::pow(0.025, 1 / static_cast<double>(trials));
    const Estimate none = estimate_share(0, trials);
    CHECK(none.mean == 0);
    CHECK((*none.interval)[0] == 0);
    CHECK((*none.interval)[1] == doctest::Approx(end).epsilon(1e-12));
    const Estimate all = estimate_share(trials, trials);
    CHECK(all.mean == 1);
    CHECK((*all.interval)[0] == doctest::Approx(1 - end).epsilon(1e-12));
    CHECK((*all.interval)[1] == 1);
    CHECK_FALSE(all.is_doubtful);
  }
}

TEST_CASE("estimates: at the ends of the interval of a share, what was seen or more extreme has 2.5 %") {
  for (const auto& [hits, trials] : {std::pair{1, 3}, {5, 10}, {19, 20}, {61, 200}}) {
    const Estimate share = estimate_share(hits, trials);
    const auto [low, high] = *share.interval;
    CHECK(share.mean == static_cast<double>(hits) / trials);
    CHECK(binomial(hits, trials, trials, low) == doctest::Approx(0.025).epsilon(1e-9));
    CHECK(binomial(0, hits, trials, high) == doctest::Approx(0.025).epsilon(1e-9));
  }
}

TEST_CASE("estimates: a share of very many trials has the normal interval") {
  // Half of 1e9: 0.5 +- 1.959964 * 0.5 / sqrt(1e9).
  const auto [low, high] = *estimate_share(500'000'000, 1'000'000'000).interval;
  const double half = 1.959963984540054 * 0.5 / std::sqrt(1e9);
  CHECK(0.5 - low == doctest::Approx(half).epsilon(1e-4));
  CHECK(high - 0.5 == doctest::Approx(half).epsilon(1e-4));
}

TEST_CASE("estimates: there is no share of no trials, and none of more hits than trials") {
  CHECK_THROWS_AS((void)estimate_share(0, 0), InternalError);
  CHECK_THROWS_AS((void)estimate_share(-1, 3), InternalError);
  CHECK_THROWS_AS((void)estimate_share(4, 3), InternalError);
}

TEST_CASE("estimates: a quantile between two values is interpolated, whatever their order") {
  // Position (n - 1) p from the least: 5 * 0.5 = 2.5, 5 * 0.1 = 0.5, 5 * 0.9 = 4.5.
  const std::vector<double> values = {60, 10, 50, 20, 40, 30};
  CHECK(estimate_quantile(values, 0.5).mean == 35);
  CHECK(estimate_quantile(values, 0.1).mean == 15);
  CHECK(estimate_quantile(values, 0.9).mean == 55);
  CHECK(estimate_quantile(std::vector<double>{7}, 0.9).mean == 7);
}

TEST_CASE("estimates: six values have the median between them, five may not") {
  // All on one side of it: 2 / 2^6 = 3.125 %, so 96.875 % are covered; 2 / 2^5 = 6.25 % are too many.
  CHECK(*estimate_quantile(ranks(6), 0.5).interval == std::array<double, 2>{1, 6});
  CHECK_FALSE(estimate_quantile(ranks(5), 0.5).interval);
  CHECK_FALSE(estimate_quantile(ranks(6), 0.5).is_doubtful);
  // Ten: outside of the second and the ninth are 2 (1 + 10) / 2^10 = 2.1 %; of the third and eighth 10.9 %.
  CHECK(*estimate_quantile(ranks(10), 0.5).interval == std::array<double, 2>{2, 9});
}

TEST_CASE("estimates: a quantile near the end takes what the other side leaves") {
  // p90 lies above all of 28 values with 0.9^28 = 5.2 %, above all of 29 with 4.7 %. That leaves 0.29 %
  // below: P(fewer than 21 of 29) = 0.155 %, P(fewer than 22) = 0.62 %.
  CHECK_FALSE(estimate_quantile(ranks(28), 0.9).interval);
  CHECK(*estimate_quantile(ranks(29), 0.9).interval == std::array<double, 2>{21, 29});
  CHECK(*estimate_quantile(ranks(29), 0.1).interval == std::array<double, 2>{1, 9});
}

TEST_CASE("estimates: quantiles of any number of values are covered with 95 %, and not much more") {
  for (const double probability : {0.01, 0.1, 0.25, 0.5, 0.9, 0.99}) {
    for (std::int64_t count = 1; count <= 120; ++count) {
      CAPTURE(probability);
      CAPTURE(count);
      const Estimate quantile = estimate_quantile(ranks(count), probability);
      const double outmost = count == 1 ? 0 : binomial(1, count - 1, count, probability);
      REQUIRE(quantile.interval.has_value() == (outmost >= 0.95));
      if (!quantile.interval) continue;
      const auto [low, high] = *quantile.interval;
      const auto first = static_cast<std::int64_t>(low);
      const auto last = static_cast<std::int64_t>(high);
      CHECK(low <= quantile.mean);
      CHECK(quantile.mean <= high);
      const auto covered = [&](std::int64_t from, std::int64_t to) {
        return binomial(from, to - 1, count, probability);
      };
      CHECK(covered(first, last) >= 0.95);
      CHECK(std::min(covered(first + 1, last), covered(first, last - 1)) < 0.975);
    }
  }
}

TEST_CASE("estimates: quantiles are of finite values and of probabilities between 0 and 1") {
  CHECK_THROWS_AS((void)estimate_quantile({}, 0.5), InternalError);
  CHECK_THROWS_AS((void)estimate_quantile(ranks(3), 0), InternalError);
  CHECK_THROWS_AS((void)estimate_quantile(ranks(3), 1), InternalError);
  CHECK_THROWS_AS((void)estimate_quantile(std::vector<double>{1, std::nan("")}, 0.5), InternalError);
}

TEST_CASE("estimates: a quantile of ten million values" * doctest::test_suite("release-only")) {
  // 1 ... n: the median is (n + 1) / 2, its interval 1.959964 * sqrt(n) / 2 = 3099 to both sides.
  const Estimate median = estimate_quantile(ranks(10'000'000), 0.5);
  CHECK(median.mean == 5'000'000.5);
  CHECK(median.mean - (*median.interval)[0] == doctest::Approx(3099).epsilon(1e-3));
  CHECK((*median.interval)[1] - median.mean == doctest::Approx(3099).epsilon(1e-3));
}

}  // namespace goodput
