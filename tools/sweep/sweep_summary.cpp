#include "tools/sweep/sweep_summary.h"

#include <algorithm>

namespace goodput {
namespace {

// A job that was stopped before its goal is cheap.
bool is_better(double mean, bool is_finished, const SweepSummary::Best& than) {
  if (than.metric == TrialMetric::kCost && is_finished != than.is_finished) return is_finished;
  const bool less = info(than.metric).better == Better::kLess;
  return less ? mean < than.estimate.mean : mean > than.estimate.mean;
}

}  // namespace

void SweepSummary::count(const std::string& policy, const std::string& what, std::uint64_t point,
                         Saying& all) {
  constexpr std::size_t kMostKept = 1000;  // of texts that differ
  auto said = all.find({policy, what});
  if (said == all.end()) {
    if (all.size() >= kMostKept) return;
    said = all.emplace(std::pair{policy, what}, Said{policy, what, 0, point}).first;
  }
  ++said->second.points;
}

std::vector<SweepSummary::Said> SweepSummary::by_points(const Saying& all) {
  std::vector<Said> sorted;
  for (const auto& [key, said] : all) sorted.push_back(said);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Said& a, const Said& b) {
    return a.points != b.points ? a.points > b.points : a.first < b.first;
  });
  return sorted;
}

void SweepSummary::compare(const PolicyRows& policy, std::uint64_t point) {
  const bool is_finished = std::all_of(policy.trials.begin(), policy.trials.end(),
                                       [](const TrialRow& trial) { return trial.finished; });
  for (std::size_t i = 0; i < kSweepMetrics.size(); ++i) {
    const TrialMetricInfo& metric = info(kSweepMetrics[i]);
    const auto found =
        std::find_if(policy.estimates.begin(), policy.estimates.end(),
                     [&metric](const MetricEstimate& estimate) { return estimate.metric == metric.name; });
    if (found == policy.estimates.end()) continue;
    if (!best_[i] || is_better(found->estimate.mean, is_finished, *best_[i]))
      best_[i] = Best{kSweepMetrics[i], found->estimate, point, policy.name, is_finished};
  }
}

void SweepSummary::add(const PointRows& rows) {
  ++points_;
  if (!rows.error.empty()) {
    count({}, rows.error, rows.point, errors_);
    return;
  }
  ++ran_;
  for (const PolicyRows& policy : rows.policies) {
    if (!policy.refused.empty()) {
      count(policy.name, policy.refused, rows.point, refused_);
      continue;
    }
    for (const std::string& warning : policy.warnings) count(policy.name, warning, rows.point, warnings_);
    const auto tier = std::find(std::begin(kTierNames), std::end(kTierNames), policy.tier);
    if (tier != std::end(kTierNames)) {
      const auto found = static_cast<Tier>(tier - std::begin(kTierNames));
      lowest_tier_ = lowest(lowest_tier_.value_or(found), found);
    }
    compare(policy, rows.point);
  }
}

std::vector<SweepSummary::Best> SweepSummary::best() const {
  std::vector<Best> found;
  for (const std::optional<Best>& best : best_) {
    if (best) found.push_back(*best);
  }
  return found;
}

std::optional<std::string> SweepSummary::lowest_tier() const {
  if (!lowest_tier_) return std::nullopt;
  return std::string(to_string(*lowest_tier_));
}

}  // namespace goodput
