#include "models/scenario/estimate.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <vector>

#include "models/scenario/sample_moments.h"
#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr double kMissed = 1 - kConfidence;

// Of `trials` with the given probability of a hit each. REQUIRES: 1 <= hits <= trials.
double probability_of_at_least(std::int64_t hits, std::int64_t trials, double probability) {
  return boost::math::ibeta(static_cast<double>(hits), static_cast<double>(trials - hits + 1), probability);
}
double probability_of_fewer(std::int64_t hits, std::int64_t trials, double probability) {
  return boost::math::ibetac(static_cast<double>(hits), static_cast<double>(trials - hits + 1), probability);
}

// Which order statistics, from 1, have the quantile between them.
struct Ranks {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// The least of `ranks` for which `is_true`, which stays so from there on; one past them if none is.
template <typename Predicate>
std::int64_t first_rank(Ranks ranks, Predicate is_true) {
  while (ranks.low <= ranks.high) {
    const std::int64_t middle = ranks.low + (ranks.high - ranks.low) / 2;
    if (is_true(middle)) {
      ranks.high = middle - 1;
    } else {
      ranks.low = middle + 1;
    }
  }
  return ranks.low;
}

// How many values lie below the quantile is binomial: it lies below the k-th of them with P(fewer than k),
// above it with P(k or more). Each side may miss half of what may be missed; where its outermost value misses
// more, the other side may miss what is left.
std::optional<Ranks> ranks_around(std::int64_t count, double probability) {
  const auto below = [=](std::int64_t rank) { return probability_of_fewer(rank, count, probability); };
  const auto above = [=](std::int64_t rank) { return probability_of_at_least(rank, count, probability); };
  if (below(1) + above(count) > kMissed) return std::nullopt;
  const double may_be_below = std::max(below(1), kMissed - std::max(kMissed / 2, above(count)));
  const double may_be_above = std::max(above(count), kMissed - std::max(kMissed / 2, below(1)));
  const Ranks all{1, count};
  return Ranks{first_rank(all, [&](std::int64_t rank) { return below(rank) > may_be_below; }) - 1,
               first_rank(all, [&](std::int64_t rank) { return above(rank) <= may_be_above; })};
}

}  // namespace

Estimate estimate_mean(std::span<const double> values) {
  const SampleMoments moments = sample_moments(values);
  Estimate estimate{moments.mean, student_interval(moments), is_doubtful(moments)};
  if (estimate.interval && moments.least >= 0)
    (*estimate.interval)[0] = std::max(0.0, (*estimate.interval)[0]);
  return estimate;
}

Estimate estimate_share(std::int64_t hits, std::int64_t trials) {
  GOODPUT_CHECK(trials > 0 && hits >= 0 && hits <= trials, "a share must be between 0 and 1");
  const auto hit = static_cast<double>(hits);
  const auto missed = static_cast<double>(trials - hits);
  const double low = hits == 0 ? 0 : boost::math::ibeta_inv(hit, missed + 1, kMissed / 2);
  const double high = hits == trials ? 1 : boost::math::ibetac_inv(hit + 1, missed, kMissed / 2);
  return {hit / static_cast<double>(trials), std::array{low, high}, false};
}

Estimate estimate_quantile(std::span<const double> values, double probability) {
  GOODPUT_CHECK(!values.empty(), "statistics need at least one value");
  GOODPUT_CHECK(probability > 0 && probability < 1, "a quantile needs a probability between 0 and 1");
  std::vector<double> sample(values.begin(), values.end());
  GOODPUT_CHECK(std::all_of(sample.begin(), sample.end(), [](double value) { return std::isfinite(value); }),
                "statistics need finite values");
  const auto order_statistic = [&sample](std::int64_t rank) {
    const auto place = sample.begin() + (rank - 1);
    std::nth_element(sample.begin(), place, sample.end());
    return *place;
  };
  const auto count = static_cast<std::int64_t>(sample.size());
  const double position = static_cast<double>(count - 1) * probability;
  const auto rank = static_cast<std::int64_t>(position) + 1;
  const double lower = order_statistic(rank);
  const double upper = order_statistic(std::min(rank + 1, count));
  Estimate estimate{.mean = std::lerp(lower, upper, position - std::floor(position))};
  if (const auto ranks = ranks_around(count, probability))
    estimate.interval = {order_statistic(ranks->low), order_statistic(ranks->high)};
  return estimate;
}

}  // namespace goodput
