#include "models/routing/zipf_shares.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace goodput {
namespace {

std::vector<double> descending_shares(std::int32_t experts, std::int32_t top_k, double skew) {
  MoeShape moe;
  moe.experts = experts;
  moe.top_k = top_k;
  std::vector<double> shares = zipf_shares(moe, skew, 0, 1);
  std::sort(shares.begin(), shares.end(), std::greater<>());
  return shares;
}

}  // namespace

TEST_CASE("zipf shares: of top-1 routing follow 1/rank^skew") {
  // 1 + 1/2 + 1/3 + 1/4 = 25/12
  const std::vector<double> shares = descending_shares(4, 1, 1);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(shares[i] == doctest::Approx(12.0 / 25 / static_cast<double>(i + 1)).epsilon(1e-12));
}

TEST_CASE("zipf shares: no expert gets a token twice, and what is cut off goes to the others in proportion") {
  // Top 3 of 4, 1/rank: 12/25 is cut to 1/3; 2/3 for the others by 6:4:3 leaves 4/13 of 0.308, below 1/3.
  const std::vector<double> shares = descending_shares(4, 3, 1);
  CHECK(shares[0] == doctest::Approx(1.0 / 3));
  CHECK(shares[1] == doctest::Approx(2.0 / 3 * 6 / 13));
  CHECK(shares[3] == doctest::Approx(2.0 / 3 * 3 / 13));
  CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == doctest::Approx(1).epsilon(1e-12));
}

TEST_CASE("zipf shares: layers have their own order, and the same one for every call") {
  MoeShape moe;
  moe.experts = 64;
  CHECK(zipf_shares(moe, 1, 0, 7) == zipf_shares(moe, 1, 0, 7));
  CHECK(zipf_shares(moe, 1, 0, 7) != zipf_shares(moe, 1, 1, 7));
  CHECK(zipf_shares(moe, 1, 0, 7) != zipf_shares(moe, 1, 0, 8));
}

}  // namespace goodput
