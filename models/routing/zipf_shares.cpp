#include "models/routing/zipf_shares.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "sim/base/random.h"

namespace goodput {
namespace {

// Shares above `most` are cut to it, and what is cut off goes to the others in proportion. `shares` descend.
void cap_shares(std::vector<double>& shares, double most) {
  std::vector<double> from_here(shares.size() + 1);  // what the shares from each one on add up to
  for (std::size_t i = shares.size(); i-- > 0;) from_here[i] = from_here[i + 1] + shares[i];
  double left = 1;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i] = std::min(shares[i] * left / from_here[i], most);
    left -= shares[i];
  }
}

}  // namespace

std::vector<double> zipf_shares(const MoeShape& moe, double skew, std::int32_t layer, std::uint64_t seed) {
  std::vector<double> shares(static_cast<std::size_t>(moe.experts));
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = std::pow(static_cast<double>(i + 1), -skew);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  cap_shares(shares, 1.0 / moe.top_k);
  RandomStream random(seed, "expert popularity", static_cast<std::uint64_t>(layer));
  for (std::size_t i = shares.size(); i > 1; --i) std::swap(shares[i - 1], shares[random.below(i)]);
  return shares;
}

}  // namespace goodput
