#include "models/scenario/paired_comparison.h"

#include <cmath>
#include <vector>

#include "models/scenario/sample_moments.h"
#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr std::int64_t kMostTrialsToDecide = 1'000'000'000'000;

// The smallest n with t(n - 1) s / sqrt(n) < |mean|. REQUIRES: it is not met by the values themselves.
std::optional<std::int64_t> trials_to_decide(const SampleMoments& difference) {
  const double deviation = difference.standard_error * std::sqrt(static_cast<double>(difference.count));
  const auto is_enough = [&](std::int64_t trials) {
    return student_t(trials) * deviation / std::sqrt(static_cast<double>(trials)) < std::abs(difference.mean);
  };
  std::int64_t too_few = difference.count;
  std::int64_t enough = kMostTrialsToDecide;
  if (!is_enough(enough)) return std::nullopt;
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (is_enough(middle) ? enough : too_few) = middle;
  }
  return enough;
}

}  // namespace

PairedComparison compare_paired(std::span<const double> a, std::span<const double> b) {
  GOODPUT_CHECK(a.size() == b.size(), "a comparison needs paired values");
  std::vector<double> differences(a.begin(), a.end());
  for (std::size_t i = 0; i < b.size(); ++i) differences[i] -= b[i];
  const SampleMoments moments = sample_moments(differences);
  PairedComparison comparison{.a = estimate_mean(a), .b = estimate_mean(b)};
  // Not estimate_mean(): a against b is b against a with the signs turned.
  comparison.difference = {moments.mean, student_interval(moments), is_doubtful(moments)};
  if (moments.count == 1) return comparison;
  const auto [low, high] = *comparison.difference.interval;
  comparison.decides = low > 0 || high < 0;
  if (comparison.decides) return comparison;
  if (const auto trials = trials_to_decide(moments)) comparison.more_trials = *trials - moments.count;
  return comparison;
}

}  // namespace goodput
