// Weighted values of jobs, and what they say of the fleet that the jobs are a sample of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "models/scenario/estimate.h"

namespace goodput {

struct SampleValue {
  double value = 0;
  double weight = 1;
  std::size_t job = 0;  // steps of one job are no independent values
};

// Intervals cover 95 %. Where all weights are one and every job has one value they are exact (a share) or as
// in models/scenario/estimate.h; else jobs are drawn anew (percentiles of the bootstrap, Efron and
// Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). There is none where the jobs are too few:
// they count as (sum w)^2 / sum w^2 (Kish, Survey Sampling, 1965, section 11.7), so that jobs of which one
// weighs nearly all count as one; and none where all draws agree, which tell nothing of what was not drawn.
class FleetSample {
 public:
  // The same seed draws the same jobs anew.
  FleetSample(std::vector<SampleValue> values, std::uint64_t seed);

  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] std::size_t jobs() const { return jobs_; }
  [[nodiscard]] const std::vector<SampleValue>& values() const { return values_; }  // ascending
  [[nodiscard]] double total_weight() const;

  // REQUIRES for all: not empty(), some weight.
  [[nodiscard]] Estimate share(const std::function<bool(double)>& is_counted) const;
  [[nodiscard]] Estimate mean() const;
  // The least value that the given share of the weight does not exceed. REQUIRES: 0 < probability < 1.
  [[nodiscard]] Estimate quantile(double probability) const;

 private:
  using Statistic = std::function<double(const std::vector<double>& weights)>;  // by value
  // An interval only where there are as many effective jobs.
  [[nodiscard]] Estimate drawn_anew(const Statistic& statistic, double fewest_jobs) const;
  [[nodiscard]] double effective_jobs() const;
  [[nodiscard]] double fewest_for_quantile(double probability) const;
  [[nodiscard]] double quantile_of(const std::vector<double>& weights, double probability) const;
  [[nodiscard]] std::vector<double> plain_values() const;

  std::vector<SampleValue> values_;  // by value; jobs numbered from 0 without gaps
  std::size_t jobs_ = 0;
  bool is_plain_ = true;  // a value a job, all of one weight
  std::uint64_t seed_ = 0;
};

}  // namespace goodput
