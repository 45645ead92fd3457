#include "tools/plan/pareto_front.h"

#include <algorithm>
#include <optional>

#include "models/scenario/trial_metrics.h"

namespace goodput {
namespace {

constexpr double kWorthwhile = 0.005;  // relative: of time that costs more
constexpr int kRounds = 4;             // of the front getting trials, which may move it

struct CostAndTime {
  std::size_t contender = 0;
  double cost = 0;
  double time = 0;
};

// None without a cost, or where some trial did not finish.
std::optional<CostAndTime> cost_and_time(const Contenders& contenders, std::size_t contender) {
  const auto trials = contenders.trials(contender);
  if (trials.empty()) return std::nullopt;
  const auto cost = values_of(TrialMetric::kCost, trials);
  const auto time = values_of(TrialMetric::kJct, trials);
  if (!cost || !time) return std::nullopt;
  return CostAndTime{contender, estimate_mean(*cost).mean, estimate_mean(*time).mean};
}

std::vector<std::size_t> front_of(const Contenders& contenders) {
  std::vector<CostAndTime> all;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (const auto one = cost_and_time(contenders, i)) all.push_back(*one);
  }
  std::stable_sort(all.begin(), all.end(), [](const CostAndTime& a, const CostAndTime& b) {
    return a.cost != b.cost ? a.cost < b.cost : a.time < b.time;
  });
  std::vector<std::size_t> front;
  double best_time = 0;
  for (const CostAndTime& one : all) {
    if (!front.empty() && one.time > best_time * (1 - kWorthwhile)) continue;
    front.push_back(one.contender);
    best_time = one.time;
  }
  return front;
}

}  // namespace

Result<std::vector<std::size_t>> pareto_front(const Contenders& contenders, std::int64_t trials,
                                              const RunTrials& run) {
  std::vector<std::size_t> front = front_of(contenders);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::size_t> few;
    for (const std::size_t i : front) {
      if (static_cast<std::int64_t>(contenders.trials(i).size()) < trials) few.push_back(i);
    }
    if (few.empty()) break;
    GOODPUT_TRY_STATUS(run(few, trials));
    front = front_of(contenders);
  }
  return front;
}

}  // namespace goodput
