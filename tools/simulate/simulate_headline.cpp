#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

// Whether the confidence interval of the policies' ratio includes 1.
bool is_undecided(const Simulation& simulation, const std::string& a, const std::string& b,
                  std::optional<Estimate> PolicyRatio::*metric) {
  return std::any_of(simulation.ratios.begin(), simulation.ratios.end(), [&](const PolicyRatio& ratio) {
    if (ratio.name != a + '/' + b && ratio.name != b + '/' + a) return false;
    const std::optional<Estimate>& value = ratio.*metric;
    return value && value->interval && (*value->interval)[0] <= 1 && (*value->interval)[1] >= 1;
  });
}

}  // namespace

// Policies that reach the goal in every trial are ranked by the time that takes; if there are none, all
// policies by samples per hour.
std::string simulate_headline(const Simulation& simulation) {
  std::vector<const PolicyOutcome*> ranked;
  for (const PolicyOutcome& outcome : simulation.policies) {
    if (outcome.refused.empty()) ranked.push_back(&outcome);
  }
  if (ranked.empty()) return "No policy can run this job.";
  const auto has_value = [](TrialMetric metric) {
    return [metric](const PolicyOutcome* outcome) { return outcome->estimate(metric).has_value(); };
  };
  const bool is_by_time = std::any_of(ranked.begin(), ranked.end(), has_value(TrialMetric::kJct));
  const TrialMetric metric = is_by_time ? TrialMetric::kJct : TrialMetric::kSamplesPerHour;
  const auto end_of_ranked = std::stable_partition(ranked.begin(), ranked.end(), has_value(metric));
  const auto unranked = static_cast<std::size_t>(ranked.end() - end_of_ranked);
  ranked.erase(end_of_ranked, ranked.end());
  if (ranked.empty()) return "No policy trained a sample.";
  std::stable_sort(ranked.begin(), ranked.end(), [&](const PolicyOutcome* a, const PolicyOutcome* b) {
    return is_by_time ? a->mean(metric) < b->mean(metric) : a->mean(metric) > b->mean(metric);
  });
  const PolicyOutcome& best = *ranked.front();
  const std::string mean = best.trials > 1 ? " on average" : "";
  const std::string figure = metric_text(metric, best.mean(metric));
  std::string text = is_by_time ? fmt::format("{} finishes after {}{}", best.name, figure, mean)
                                : fmt::format("{} trains {} samples/h{}", best.name, figure, mean);
  if (ranked.size() == 1) {
    text += fmt::format("; goodput {}", metric_text(TrialMetric::kGoodput, best.mean(TrialMetric::kGoodput)));
  } else {
    const PolicyOutcome& second = *ranked[1];
    const double second_of_best = second.mean(metric) / best.mean(metric);
    const double times = is_by_time ? second_of_best : 1 / second_of_best;
    if (is_undecided(simulation, best.name, second.name,
                     is_by_time ? &PolicyRatio::jct_s : &PolicyRatio::samples_per_hour))
      text += fmt::format("; the difference from {} is not significant", second.name);
    else if (!(times >= 1.005))
      text += fmt::format(", about the same as {}", second.name);
    else if (is_by_time)
      text += fmt::format("; {} takes {:.2f}x as long", second.name, times);
    else
      text += fmt::format(", {:.2f}x as many as {}", times, second.name);
  }
  if (is_by_time && unranked > 0)
    text += fmt::format("; {} other{} not always reach the goal", unranked, unranked == 1 ? " does" : "s do");
  return text + '.';
}

}  // namespace goodput
