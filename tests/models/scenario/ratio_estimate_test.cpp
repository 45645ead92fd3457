#include "models/scenario/ratio_estimate.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "models/scenario/sample_moments.h"
#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

struct Pairs {
  std::vector<double> a{}, b{};
};

// Positive, scattered and correlated.
Pairs random_pairs(std::uint64_t seed, std::size_t count) {
  RandomStream random(seed, "ratio_estimate_test");
  Pairs pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const double shared = random.uniform(0, 4);
    pairs.a.push_back(2 + shared + random.uniform());
    pairs.b.push_back(5 + 2 * shared + random.uniform());
  }
  return pairs;
}

}  // namespace

TEST_CASE("ratio estimates: the ratio of the means, not the mean of ratios") {
  // Means 8/2 and 10/2; the ratios of the pairs are 1/9 and 7.
  CHECK(estimate_ratio(std::vector<double>{1, 7}, std::vector<double>{9, 1})->mean == 0.8);
}

TEST_CASE("ratio estimates: Fieller's interval of three pairs by hand") {
  // Means 22 and 10; sums of squares 4+1+9 = 14, 1+0+1 = 2, of products 2+0+3 = 5; over 2 * 3 for the means.
  // Fieller: (A B - t^2 C -+ sqrt((A B - t^2 C)^2 - (A^2 - t^2 V_A)(B^2 - t^2 V_B))) / (B^2 - t^2 V_B).
  const std::vector<double> a = {20, 21, 25};
  const std::vector<double> b = {9, 10, 11};
  const double t2 = 18.512820512820511;  // of 2 degrees of freedom: 0.95^2 * 2 / (1 - 0.95^2)
  const double of_both = 22 * 10 - t2 * 5 / 6;
  const double of_a = 22 * 22 - t2 * 14 / 6;
  const double of_b = 10 * 10 - t2 * 2 / 6;
  const double root = std::sqrt(of_both * of_both - of_a * of_b);
  const Estimate ratio = estimate_ratio(a, b).value();
  CHECK(ratio.mean == 2.2);
  CHECK((*ratio.interval)[0] == doctest::Approx((of_both - root) / of_b).epsilon(1e-12));
  CHECK((*ratio.interval)[1] == doctest::Approx((of_both + root) / of_b).epsilon(1e-12));
  CHECK(ratio.is_doubtful);  // of three
}

TEST_CASE("ratio estimates: at the ends of the interval a - rho b is just significantly different from 0") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Pairs pairs = random_pairs(seed, 12);
    const Estimate ratio = estimate_ratio(pairs.a, pairs.b).value();
    REQUIRE(ratio.interval);
    for (const double end : *ratio.interval) {
      std::vector<double> rest = pairs.a;
      for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= end * pairs.b[i];
      const SampleMoments moments = sample_moments(rest);
      CHECK(std::abs(moments.mean) == doctest::Approx(student_t(12) * moments.standard_error).epsilon(1e-9));
    }
  }
}

TEST_CASE("ratio estimates: by a constant Fieller's interval is Student's") {
  const std::vector<double> a = {1, 2, 3, 6};
  const Estimate ratio = estimate_ratio(a, std::vector<double>(4, 2.0)).value();
  const Estimate mean = estimate_mean(std::vector<double>{0.5, 1, 1.5, 3});
  CHECK(ratio.mean == mean.mean);
  CHECK((*ratio.interval)[0] == doctest::Approx((*mean.interval)[0]).epsilon(1e-14));
  CHECK((*ratio.interval)[1] == doctest::Approx((*mean.interval)[1]).epsilon(1e-14));
}

TEST_CASE("ratio estimates: pairs in exact proportion have an interval of no width and no doubt") {
  const Estimate constant = estimate_ratio(std::vector<double>(3, 0.3), std::vector<double>(3, 0.7)).value();
  CHECK(*constant.interval == std::array{constant.mean, constant.mean});
  CHECK(constant.mean == doctest::Approx(0.3 / 0.7).epsilon(1e-15));
  // Products and means round; and Fieller's interval of three divisors with such scatter would be unbounded.
  for (const std::vector<double>& b : {random_pairs(1, 40).b, {1.1, 10.3, 100.7}}) {
    for (const double factor : {0.1, 0.7, 1.3, 3.3, 1 / 3.0}) {
      std::vector<double> a = b;
      for (double& value : a) value *= factor;
      const Estimate proportion = estimate_ratio(a, b).value();
      REQUIRE(proportion.interval);
      CHECK(*proportion.interval == std::array{proportion.mean, proportion.mean});
      CHECK_FALSE(proportion.is_doubtful);
    }
  }
}

TEST_CASE("ratio estimates: by what may be 0 there is no interval, and doubt") {
  // g = t^2 var / mean^2 = 18.5 * (1 / 3) / 2^2 = 1.54.
  const Estimate ratio = estimate_ratio(std::vector<double>{3, 1, 2}, std::vector<double>{1, 2, 3}).value();
  CHECK(ratio.mean == 1);
  CHECK_FALSE(ratio.interval);
  CHECK(ratio.is_doubtful);
  // Twelve divisors of 3 and -1, mean 1: no skewness, but g = 4.84 * (48 / 11 / 12) / 1 = 1.76.
  std::vector<double> a(12, 1.0);
  std::vector<double> b(12, 3.0);
  for (std::size_t i = 0; i < b.size(); i += 2) b[i] = -1;
  CHECK_FALSE(estimate_ratio(a, b)->interval);
  CHECK(estimate_ratio(a, b)->is_doubtful);
  CHECK_FALSE(estimate_ratio(std::vector<double>{3, 1}, std::vector<double>{1, -1}));
  CHECK_FALSE(estimate_ratio(std::vector<double>{0, 0}, std::vector<double>{0, 0}));
}

TEST_CASE("ratio estimates: one pair has a ratio and no interval") {
  const Estimate ratio = estimate_ratio(std::vector<double>{3}, std::vector<double>{2}).value();
  CHECK(ratio.mean == 1.5);
  CHECK_FALSE(ratio.interval);
  CHECK_FALSE(ratio.is_doubtful);
}

TEST_CASE("ratio estimates: the interval is not below 0 where no value is") {
  const std::vector<double> b = {9, 10, 11};
  CHECK((*estimate_ratio(std::vector<double>{0, 0, 3}, b)->interval)[0] == 0);
  CHECK((*estimate_ratio(std::vector<double>{0, -1e-9, 3}, b)->interval)[0] < -0.1);
  const std::vector<double> negative = {-9, -10, -11};
  CHECK((*estimate_ratio(std::vector<double>{0, 0, 3}, negative)->interval)[0] < -0.1);
}

TEST_CASE("ratio estimates: an offset of both costs few digits") {
  // The residuals are those of the whole numbers: a - b is 1, -1, 0 of 1e12.
  const Estimate ratio =
      estimate_ratio(std::vector<double>{1e12 + 1, 1e12 - 1, 1e12}, std::vector<double>(3, 1e12)).value();
  CHECK(ratio.mean == 1);
  const double half = student_t(3) * std::sqrt(1.0 / 3) * 1e-12;
  CHECK((*ratio.interval)[1] - 1 == doctest::Approx(half).epsilon(1e-3));  // next to 1 digits are 2.2e-16
}

TEST_CASE("ratio estimates: skewed residuals are doubtful, shared skewness is not") {
  // b is skewed: every fourth is 20. a = b but for one pair that is 0.5 above it; and a = b -+ 0.01.
  std::vector<double> b(40, 1.0);
  for (std::size_t i = 0; i < b.size(); i += 4) b[i] = 20;
  std::vector<double> a = b;
  a[7] += 0.5;
  CHECK(estimate_ratio(a, b)->is_doubtful);
  for (std::size_t i = 0; i < b.size(); ++i) a[i] = b[i] + (i % 8 < 4 ? 0.01 : -0.01);
  CHECK_FALSE(estimate_ratio(a, b)->is_doubtful);
}

TEST_CASE("ratio estimates: linearised values have the ratio of the means as theirs") {
  // Means 3 and 2, r = 1.5: 1.5 + (1 - 1.5) / 2, 1.5 + (5 - 4.5) / 2.
  CHECK(linearised_ratio(std::vector<double>{1, 5}, std::vector<double>{1, 3}) ==
        std::vector<double>{1.25, 1.75});
  const Pairs pairs = random_pairs(3, 30);
  const std::vector<double> values = linearised_ratio(pairs.a, pairs.b);
  CHECK(sample_moments(values).mean ==
        doctest::Approx(estimate_ratio(pairs.a, pairs.b)->mean).epsilon(1e-14));
}

TEST_CASE("ratio estimates: linearised values scatter as the ratio does, to first order") {
  // Next to Fieller's interval where the divisor is known well: g = t^2 var / mean^2 is 0.3 % at 400 pairs.
  const Pairs pairs = random_pairs(4, 400);
  const auto linear = *estimate_mean(linearised_ratio(pairs.a, pairs.b)).interval;
  const auto exact = *estimate_ratio(pairs.a, pairs.b)->interval;
  CHECK(linear[1] - linear[0] == doctest::Approx(exact[1] - exact[0]).epsilon(0.01));
}

TEST_CASE("ratio estimates: of correlated pairs 95 % of the intervals have the ratio of the means inside") {
  // Means 4.5 and 9.5. 300 samples: a standard error of 1.3 %, four of which are allowed.
  int covered = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Pairs pairs = random_pairs(seed, 10);
    const auto [low, high] = *estimate_ratio(pairs.a, pairs.b)->interval;
    covered += low <= 4.5 / 9.5 && 4.5 / 9.5 <= high ? 1 : 0;
  }
  CHECK(covered >= 270);
  CHECK(covered < 300);
}

TEST_CASE("ratio estimates: values have to be pairs, finite, and of a divisor that is not 0") {
  const std::vector<double> one = {1};
  const std::vector<double> two = {1, 2};
  CHECK_THROWS_AS((void)estimate_ratio(one, two), InternalError);
  CHECK_THROWS_AS((void)estimate_ratio({}, {}), InternalError);
  CHECK_THROWS_AS((void)estimate_ratio(std::vector<double>{std::nan("")}, one), InternalError);
  CHECK_THROWS_AS((void)linearised_ratio(one, two), InternalError);
  CHECK_THROWS_AS((void)linearised_ratio(two, std::vector<double>{1, -1}), InternalError);
}

TEST_CASE("ratio estimates: ten million pairs" * doctest::test_suite("release-only")) {
  // a alternates 1 and 3, b is 2: standard error of a / 2 is 0.5 / sqrt(n - 1).
  constexpr std::size_t kCount = 10'000'000;
  std::vector<double> a(kCount, 1.0);
  for (std::size_t i = 0; i < kCount; i += 2) a[i] = 3;
  const Estimate ratio = estimate_ratio(a, std::vector<double>(kCount, 2.0)).value();
  CHECK(ratio.mean == 1);
  const double half = 1.959963984540054 * 0.5 / std::sqrt(kCount - 1.0);
  CHECK((*ratio.interval)[1] - 1 == doctest::Approx(half).epsilon(1e-6));
}

}  // namespace goodput
