#include "tools/fleet/fleet_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "sim/base/errors.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

constexpr std::size_t kResamples = 400;
constexpr double kMissedASide = 0.025;
// From here on intervals by drawing anew have the truth inside in about 90 % of cases and more; with five,
// in 86 % (docs/formats/fleet.md).
constexpr double kFewestDrawn = 10;

std::vector<double> own_weights(const std::vector<SampleValue>& values) {
  std::vector<double> weights;
  weights.reserve(values.size());
  for (const SampleValue& value : values) weights.push_back(value.weight);
  return weights;
}

}  // namespace

FleetSample::FleetSample(std::vector<SampleValue> values, std::uint64_t seed)
    : values_(std::move(values)), seed_(seed) {
  std::map<std::size_t, std::size_t> number_of;
  for (SampleValue& value : values_) {
    value.job = number_of.emplace(value.job, number_of.size()).first->second;
    is_plain_ = is_plain_ && value.weight == values_.front().weight;
  }
  jobs_ = number_of.size();
  is_plain_ = is_plain_ && jobs_ == values_.size();
  std::stable_sort(values_.begin(), values_.end(),
                   [](const SampleValue& a, const SampleValue& b) { return a.value < b.value; });
}

double FleetSample::total_weight() const {
  double total = 0;
  for (const SampleValue& value : values_) total += value.weight;
  return total;
}

std::vector<double> FleetSample::plain_values() const {
  std::vector<double> values;
  values.reserve(values_.size());
  for (const SampleValue& value : values_) values.push_back(value.value);
  return values;
}

double FleetSample::effective_jobs() const {
  std::vector<double> weight_of(jobs_);
  for (const SampleValue& value : values_) weight_of[value.job] += value.weight;
  double sum = 0;
  double squares = 0;
  for (const double weight : weight_of) {
    sum += weight;
    squares += weight * weight;
  }
  return squares > 0 ? sum * sum / squares : 0;
}

// A quantile lies between the least and the largest of n values but for p^n + (1 - p)^n: of fewer than this
// many no interval can have it inside often enough. Of several values a job that is not so.
double FleetSample::fewest_for_quantile(double probability) const {
  if (jobs_ < values_.size()) return kFewestDrawn;
  const double farther = std::max(probability, 1 - probability);
  return std::max(kFewestDrawn, std::log(2 * kMissedASide) / std::log(farther));
}

Estimate FleetSample::drawn_anew(const Statistic& statistic, double fewest_jobs) const {
  const std::vector<double> own = own_weights(values_);
  Estimate estimate{statistic(own), {}, false};
  if (effective_jobs() < fewest_jobs * (1 - 1e-9)) return estimate;
  std::vector<double> drawn;
  std::vector<double> times(jobs_);
  std::vector<double> weights(values_.size());
  for (std::size_t resample = 0; resample < kResamples; ++resample) {
    RandomStream random(seed_, "fleet/resample", resample);
    std::fill(times.begin(), times.end(), 0.0);
    for (std::size_t i = 0; i < jobs_; ++i) ++times[random.below(jobs_)];
    double total = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      weights[i] = own[i] * times[values_[i].job];
      total += weights[i];
    }
    if (total > 0) drawn.push_back(statistic(weights));
  }
  std::sort(drawn.begin(), drawn.end());
  const auto at = [&](double share) {
    return drawn[std::min(drawn.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(drawn.size())))];
  };
  const bool all_agree = drawn.empty() || drawn.front() == drawn.back();
  if (!all_agree) estimate.interval = std::array{at(kMissedASide), at(1 - kMissedASide)};
  return estimate;
}

Estimate FleetSample::share(const std::function<bool(double)>& is_counted) const {
  GOODPUT_CHECK(!empty(), "a share of no jobs");
  if (is_plain_) {
    const auto hits = std::count_if(values_.begin(), values_.end(),
                                    [&](const SampleValue& value) { return is_counted(value.value); });
    return estimate_share(hits, static_cast<std::int64_t>(values_.size()));
  }
  return drawn_anew(
      [&](const std::vector<double>& weights) {
        double counted = 0;
        double total = 0;
        for (std::size_t i = 0; i < values_.size(); ++i) {
          total += weights[i];
          if (is_counted(values_[i].value)) counted += weights[i];
        }
        return counted / total;
      },
      kFewestDrawn);
}

Estimate FleetSample::mean() const {
  GOODPUT_CHECK(!empty(), "the mean of no jobs");
  if (is_plain_) return estimate_mean(plain_values());
  return drawn_anew(
      [&](const std::vector<double>& weights) {
        double sum = 0;
        double total = 0;
        for (std::size_t i = 0; i < values_.size(); ++i) {
          sum += weights[i] * values_[i].value;
          total += weights[i];
        }
        return sum / total;
      },
      kFewestDrawn);
}

double FleetSample::quantile_of(const std::vector<double>& weights, double probability) const {
  double total = 0;
  for (const double weight : weights) total += weight;
  double below = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    below += weights[i];
    if (below >= probability * total) return values_[i].value;
  }
  return values_.back().value;
}

Estimate FleetSample::quantile(double probability) const {
  GOODPUT_CHECK(!empty(), "a quantile of no jobs");
  if (!is_plain_)
    return drawn_anew([&](const std::vector<double>& weights) { return quantile_of(weights, probability); },
                      fewest_for_quantile(probability));
  Estimate estimate = estimate_quantile(plain_values(), probability);
  estimate.mean = quantile_of(own_weights(values_), probability);
  return estimate;
}

}  // namespace goodput
