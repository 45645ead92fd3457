#include "models/check/sequential_test.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "models/scenario/sample_moments.h"
#include "sim/base/errors.h"

namespace goodput {
namespace {

// A value a pair, whose mean is the change.
std::vector<double> differences(std::span<const double> baseline, std::span<const double> values) {
  std::vector<double> all(values.begin(), values.end());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] -= baseline[i];
  return all;
}

// Of what is the baseline's mean: plain differences, so that a pair that did not change counts as such. None
// where that mean is 0, or so small that they overflow.
std::optional<std::vector<double>> shares(std::vector<double> changes, double mean) {
  for (double& one : changes) one /= std::abs(mean);
  const bool are_finite =
      std::all_of(changes.begin(), changes.end(), [](double one) { return std::isfinite(one); });
  return mean != 0 && are_finite ? std::optional(std::move(changes)) : std::nullopt;
}

// What the mean of the changes tells.
struct MeanEvidence {
  std::array<double, 2> interval{};  // that misses with probability alpha
  double p_value = 1;                // of no change
};

MeanEvidence student_evidence(const SampleMoments& moments, double alpha) {
  if (moments.standard_error == 0) return {{moments.mean, moments.mean}, moments.mean == 0 ? 1.0 : 0.0};
  const boost::math::students_t distribution(static_cast<double>(moments.count - 1));
  const double half =
      moments.standard_error * boost::math::quantile(boost::math::complement(distribution, alpha / 2));
  const double t = std::abs(moments.mean) / moments.standard_error;
  return {{moments.mean - half, moments.mean + half},
          2 * boost::math::cdf(boost::math::complement(distribution, t))};
}

// Either side misses with probability delta / 2 where it is sqrt(2 V L / n) + 7 R L / (3 (n - 1)) away,
// L = ln(4 / delta), V the variance and R the range: a quadratic in sqrt(L).
MeanEvidence bernstein_evidence(std::span<const double> changes, const SampleMoments& moments, double alpha) {
  const auto [least, largest] = std::minmax_element(changes.begin(), changes.end());
  const double range = std::max(*largest, 0.0) - std::min(*least, 0.0);
  const double root = std::sqrt(2.0) * moments.standard_error;
  const double square = 7 * range / (3 * static_cast<double>(moments.count - 1));
  const double logarithm = std::log(4 / alpha);
  const double half = root * std::sqrt(logarithm) + square * logarithm;
  const double root_of_l =
      (std::sqrt(root * root + 4 * square * std::abs(moments.mean)) - root) / (2 * square);
  return {{moments.mean - half, moments.mean + half}, 4 * std::exp(-root_of_l * root_of_l)};
}

}  // namespace

SequentialTest::SequentialTest(Tolerance tolerance, std::int64_t most, std::int64_t questions)
    : tolerance_(tolerance), most_(most), questions_(questions) {
  GOODPUT_CHECK(tolerance.is_statistical() && most >= 2 && questions >= 1,
                "a sequential test needs a confidence, at least 2 trials and at least 1 question");
  while (pairs_of(most_looks_) < most_) ++most_looks_;
}

// From the first look, 1, on.
std::int64_t SequentialTest::pairs_of(std::int64_t look) const {
  return std::min(most_, kFirstLook << (look - 1));
}

std::optional<std::int64_t> SequentialTest::next_look() const {
  if (movement_ != Movement::kUndecided || looks_ == most_looks_) return std::nullopt;
  return pairs_of(looks_ + 1);
}

void SequentialTest::look(std::span<const double> baseline, std::span<const double> values) {
  const auto wanted = next_look();
  GOODPUT_CHECK(
      wanted && baseline.size() == values.size() && static_cast<std::int64_t>(values.size()) == *wanted,
      "a look must have exactly the trials that next_look() returned");
  ++looks_;
  const double p_before = change_.p_value;
  change_ = {.trials = *wanted};
  change_.baseline = sample_moments(baseline).mean;
  change_.mean = sample_moments(values).mean;
  change_.are_alike = std::equal(baseline.begin(), baseline.end(), values.begin());
  std::vector<double> each = differences(baseline, values);
  if (tolerance_.is_relative()) {
    if (auto relative = shares(each, change_.baseline)) {
      each = *std::move(relative);
      change_.is_relative = true;
    }
  }
  const SampleMoments moments = sample_moments(each);
  const auto looks = static_cast<double>(most_looks_);
  const double alpha = (1 - *tolerance_.confidence) / looks;
  change_.change = moments.mean;
  change_.is_skewed = is_doubtful(moments);
  const MeanEvidence evidence =
      change_.is_skewed ? bernstein_evidence(each, moments, alpha) : student_evidence(moments, alpha);
  change_.interval = evidence.interval;
  change_.p_value = std::min(p_before, evidence.p_value * looks);
  change_.is_tolerated = is_within_tolerance();
  movement_ = judge();
}

bool SequentialTest::is_within_tolerance() const {
  const double size = change_.is_relative == tolerance_.is_relative() ? tolerance_.size : 0;
  return change_.interval[0] >= -size && change_.interval[1] <= size;
}

Movement SequentialTest::judge() const {
  if (change_.is_tolerated)
    return change_.trials >= std::min(most_, kLeastForSame) ? Movement::kSame : Movement::kUndecided;
  const double all_alpha = (1 - *tolerance_.confidence) / static_cast<double>(questions_);
  return change_.excludes_none() && change_.p_value <= all_alpha ? Movement::kMoved : Movement::kUndecided;
}

}  // namespace goodput
