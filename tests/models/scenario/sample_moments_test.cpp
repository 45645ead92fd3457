#include "models/scenario/sample_moments.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {
namespace {}  // namespace

TEST_CASE("sample moments: mean, its standard error and the skewness by hand") {
  // 1, 2, 6: mean 3, deviations -2, -1, 3; variance 14/2 = 7, standard error sqrt(7/3).
  // G1 = 3/(2*1) * (-8 - 1 + 27) / 7^1.5 = 27 / 7^1.5.
  const SampleMoments moments = sample_moments(std::vector<double>{1, 2, 6});
  CHECK(moments.count == 3);
  CHECK(moments.mean == 3);
  CHECK(moments.least == 1);
  CHECK(moments.standard_error == doctest::Approx(std::sqrt(7.0 / 3)).epsilon(1e-15));
  CHECK(moments.skewness == doctest::Approx(27 / std::pow(7, 1.5)).epsilon(1e-14));
}

TEST_CASE("sample moments: equal values have no scatter at all, though their sum rounds") {
  const SampleMoments moments = sample_moments(std::vector<double>(1'000'003, 0.1));
  CHECK(moments.mean == 0.1);
  CHECK(moments.standard_error == 0);
  CHECK(moments.skewness == 0);
  CHECK_FALSE(is_doubtful(moments));
}

TEST_CASE("sample moments: the mean of many values is right to the last digits, though their sum is not") {
  std::vector<double> values(1'000'000, 0.1);
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] = 0.3;
  CHECK(sample_moments(values).mean == doctest::Approx(0.2).epsilon(1e-15));
}

TEST_CASE("sample moments: an offset changes the mean alone") {
  // 1e12 plus 0, 1, 5: whole numbers, so that the values are exact.
  const SampleMoments plain = sample_moments(std::vector<double>{0, 1, 5});
  const SampleMoments offset = sample_moments(std::vector<double>{1e12, 1e12 + 1, 1e12 + 5});
  CHECK(offset.mean == 1e12 + 2);
  CHECK(offset.standard_error == plain.standard_error);
  CHECK(offset.skewness == plain.skewness);
}

TEST_CASE("sample moments: very large and very small scatter neither overflows nor vanishes") {
  const SampleMoments plain = sample_moments(std::vector<double>{0, 1, 5});
  for (const double unit : {0x1p-900, 0x1p900}) {
    const SampleMoments scaled = sample_moments(std::vector<double>{0, unit, 5 * unit});
    CHECK(scaled.standard_error == unit * plain.standard_error);
    CHECK(scaled.skewness == plain.skewness);
  }
}

TEST_CASE("sample moments: ten million values keep their digits" * doctest::test_suite("release-only")) {
  // Halves of 1e12 - 1 and 1e12 + 1: variance n / (n - 1), standard error 1 / sqrt(n - 1), no skewness.
  constexpr std::size_t kCount = 10'000'000;
  std::vector<double> values(kCount, 1e12 - 1);
  for (std::size_t i = 0; i < kCount; i += 2) values[i] = 1e12 + 1;
  const SampleMoments moments = sample_moments(values);
  CHECK(moments.mean == 1e12);
  CHECK(moments.standard_error == doctest::Approx(1 / std::sqrt(kCount - 1.0)).epsilon(1e-12));
  CHECK(std::abs(moments.skewness) < 1e-12);
}

TEST_CASE("sample moments: Student's t of a few and of many values") {
  // Two values, the Cauchy distribution: tan(0.475 pi). Three: p = 0.95, t = p sqrt(2 / (1 - p^2)).
  CHECK(student_t(2) == doctest::Approx(std::tan(0.475 * std::acos(-1))).epsilon(1e-12));
  CHECK(student_t(3) == doctest::Approx(0.95 * std::sqrt(2 / (1 - 0.95 * 0.95))).epsilon(1e-12));
  CHECK(student_t(1'000'000'000'000) == doctest::Approx(1.959963984540054).epsilon(1e-9));  // normal
}

TEST_CASE("sample moments: one value has no interval") {
  CHECK_FALSE(student_interval(sample_moments(std::vector<double>{7})));
}

TEST_CASE("sample moments: fewer than ten values that differ are doubtful") {
  // Symmetric: no skewness whatever their number.
  std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(is_doubtful(sample_moments(values)));
  values.push_back(5);
  CHECK_FALSE(is_doubtful(sample_moments(values)));
  CHECK_FALSE(is_doubtful(sample_moments(std::vector<double>{7})));
}

TEST_CASE("sample moments: skewed values are doubtful until there are more than Cochran's 25 G1^2") {
  // n - 2k zeros, k ones and k threes, n = 5k: mean 0.8, deviations -0.8 (3k), 0.2 (k), 2.2 (k).
  // Squares a value: (3*0.64 + 0.04 + 4.84) / 5 = 1.36, cubes (3*-0.512 + 0.008 + 10.648) / 5 = 1.824,
  // g1 = 1.824 / 1.36^1.5 = 1.150, 25 g1^2 = 33.06; with G1 = g1 sqrt(n (n-1)) / (n-2)
  // 36.6 for n = 30 and 36.1 for n = 35: doubtful; 35.7 for n = 40: not.
  const auto of = [](std::size_t k) {
    std::vector<double> values(5 * k, 0.0);
    for (std::size_t i = 0; i < k; ++i) values[2 * i] = 1, values[2 * i + 1] = 3;
    return values;
  };
  CHECK(is_doubtful(sample_moments(of(6))));
  CHECK(is_doubtful(sample_moments(of(7))));
  CHECK_FALSE(is_doubtful(sample_moments(of(8))));
}

TEST_CASE("sample moments: of nothing, and of what is not finite, there are none") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS((void)sample_moments({}), InternalError);
  CHECK_THROWS_AS((void)sample_moments(std::vector<double>{1, std::nan("")}), InternalError);
  CHECK_THROWS_AS((void)sample_moments(std::vector<double>{-kInfinity, kInfinity}), InternalError);
  CHECK_THROWS_AS((void)student_t(1), InternalError);
}

}  // namespace goodput
