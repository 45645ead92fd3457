#include "models/scenario/paired_comparison.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "models/scenario/ratio_estimate.h"
#include "models/scenario/sample_moments.h"
#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {

TEST_CASE("paired comparison: what the failures do to both policies cancels") {
  // Differences 1, 2, 3: mean 2, standard error 1 / sqrt(3), t of 2 degrees of freedom 4.302653, so 2
  // -+ 2.484. Four of them, 1, 2, 2, 3: standard error sqrt(2/3) / 2, t = 3.182446, 2 -+ 1.299.
  const std::vector<double> b = {100, 5000, 20, 700};
  const PairedComparison four = compare_paired(std::vector<double>{101, 5002, 22, 703}, b);
  CHECK(four.a.mean == 1457);
  CHECK(four.b.mean == 1455);
  CHECK(four.difference.mean == 2);
  const double half = 3.182446305284263 * std::sqrt(2.0 / 3) / 2;
  CHECK((*four.difference.interval)[0] == doctest::Approx(2 - half).epsilon(1e-12));
  CHECK((*four.difference.interval)[1] == doctest::Approx(2 + half).epsilon(1e-12));
  CHECK(four.decides);
  CHECK_FALSE(four.more_trials);
  CHECK(four.difference.is_doubtful);  // of four
  const PairedComparison three =
      compare_paired(std::vector<double>{101, 5002, 23}, std::vector<double>{100, 5000, 20});
  CHECK_FALSE(three.decides);
}

TEST_CASE("paired comparison: how many more trials would decide") {
  // Differences -1, 1, 3: mean 1, deviation 2. 17: t(16) 2 / sqrt(17) = 2.1199 * 2 / 4.1231 = 1.028, too few;
  // 18: t(17) 2 / sqrt(18) = 2.1098 * 2 / 4.2426 = 0.995.
  const std::vector<double> nothing(3, 0.0);
  CHECK(compare_paired(std::vector<double>{-1, 1, 3}, nothing).more_trials == 15);
  CHECK(compare_paired(nothing, std::vector<double>{-1, 1, 3}).more_trials == 15);
}

TEST_CASE("paired comparison: the trials asked for are the fewest that decide") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomStream random(seed, "paired_comparison_test");
    std::vector<double> a(5);
    for (double& value : a) value = random.normal(0.2, 1);
    const PairedComparison comparison = compare_paired(a, std::vector<double>(5, 0.0));
    REQUIRE(comparison.decides != comparison.more_trials.has_value());
    if (comparison.decides) continue;
    const SampleMoments moments = sample_moments(a);
    const auto half = [&](std::int64_t trials) {
      return student_t(trials) * moments.standard_error * std::sqrt(5.0 / static_cast<double>(trials));
    };
    const std::int64_t trials = 5 + *comparison.more_trials;
    CHECK(half(trials) < std::abs(moments.mean));
    CHECK(half(trials - 1) >= std::abs(moments.mean));
  }
}

TEST_CASE("paired comparison: b against a is a against b with the signs turned") {
  const std::vector<double> a = {0, 0, 3, 1};
  const std::vector<double> b = {0, 0, 0, 0};
  const PairedComparison there = compare_paired(a, b);
  const PairedComparison back = compare_paired(b, a);
  CHECK(there.difference.mean == -back.difference.mean);
  CHECK((*there.difference.interval)[0] == -(*back.difference.interval)[1]);
  CHECK((*there.difference.interval)[0] < 0);  // though no difference is
  CHECK(there.more_trials == back.more_trials);
}

TEST_CASE("paired comparison: where all trials differ by the same, that decides; by nothing, nothing does") {
  const std::vector<double> b = {1, 10, 100};
  const PairedComparison more = compare_paired(std::vector<double>{3, 12, 102}, b);
  CHECK(more.decides);
  CHECK(*more.difference.interval == std::array{2.0, 2.0});
  CHECK_FALSE(more.difference.is_doubtful);
  const PairedComparison same = compare_paired(b, b);
  CHECK_FALSE(same.decides);
  CHECK_FALSE(same.more_trials);
}

TEST_CASE("paired comparison: no number of trials is told that nobody would run, nor from one trial") {
  // Mean 1e-9, deviation about 1: (1.96 / 1e-9)^2 = 4e18.
  CHECK_FALSE(compare_paired(std::vector<double>{1, -1, 3e-9}, std::vector<double>(3, 0.0)).more_trials);
  const PairedComparison one = compare_paired(std::vector<double>{2}, std::vector<double>{1});
  CHECK(one.difference.mean == 1);
  CHECK_FALSE(one.difference.interval);
  CHECK_FALSE(one.decides);
  CHECK_FALSE(one.more_trials);
}

TEST_CASE("paired comparison: of ratios through their linearised values") {
  // 6/3 and 5/2 of the means; the difference is that of the ratios.
  const std::vector<double> a = linearised_ratio(std::vector<double>{5, 7}, std::vector<double>{2, 4});
  const std::vector<double> b = linearised_ratio(std::vector<double>{4, 6}, std::vector<double>{1, 3});
  CHECK(compare_paired(a, b).difference.mean == doctest::Approx(-0.5).epsilon(1e-15));
}

TEST_CASE("paired comparison: of policies that do alike 5 % are told apart") {
  // 300 samples: a standard error of 1.3 %, four of which are allowed.
  int decided = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed, "paired_comparison_test", 1);
    std::vector<double> a;
    std::vector<double> b;
    for (int trial = 0; trial < 10; ++trial) {
      const double shared = random.exponential(1);
      a.push_back(10 - shared + random.normal(0, 0.1));
      b.push_back(10 - shared + random.normal(0, 0.1));
    }
    decided += compare_paired(a, b).decides ? 1 : 0;
  }
  CHECK(decided > 0);
  CHECK(decided <= 30);
}

TEST_CASE("paired comparison: values have to be pairs, and finite") {
  CHECK_THROWS_AS((void)compare_paired(std::vector<double>{1}, std::vector<double>{1, 2}), InternalError);
  CHECK_THROWS_AS((void)compare_paired({}, {}), InternalError);
  CHECK_THROWS_AS((void)compare_paired(std::vector<double>{std::nan("")}, std::vector<double>{1}),
                  InternalError);
}

}  // namespace goodput
