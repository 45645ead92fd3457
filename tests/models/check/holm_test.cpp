#include "models/check/holm.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace goodput {
namespace {

TEST_CASE(
    "holm: the least p-value counts for all questions, the next for one fewer, and none falls below the "
    "last") {
  // Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.04, the last raised to 0.06.
  const std::array p = {0.03, 0.01, 0.04, 0.02};
  const std::vector<double> adjusted = holm_adjusted(p);
  CHECK(adjusted[1] == doctest::Approx(0.04));
  CHECK(adjusted[3] == doctest::Approx(0.06));
  CHECK(adjusted[0] == doctest::Approx(0.06));
  CHECK(adjusted[2] == doctest::Approx(0.06));
}

TEST_CASE("holm: a single question is not adjusted, none gives none, and 1 stays 1") {
  CHECK(holm_adjusted(std::array{0.2}) == std::vector<double>{0.2});
  CHECK(holm_adjusted({}).empty());
  CHECK(holm_adjusted(std::array{1.0, 0.9}) == std::vector<double>{1.0, 1.0});
}

}  // namespace
}  // namespace goodput
