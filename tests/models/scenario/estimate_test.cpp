#include "models/scenario/estimate.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
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

}  // namespace goodput
