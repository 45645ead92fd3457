// How often to save a checkpoint when failures come at random.
//
// Young (CACM 17(9), 1974) and Daly (FGCS 22(3), 2006) assume exponential times between failures of the whole
// job, which also strike while a checkpoint is written and while the job restarts; every failure loses what
// was trained since the last checkpoint. Daly's expected time is exact under these assumptions, the intervals
// of Young and Daly are approximations of the best one. For failures with age, correlated ones, checkpoints
// written beside the training or recovery without a checkpoint they are a guess.
#pragma once

#include <cstdint>
#include <string_view>

namespace goodput {

// How the interval is chosen, in the order of kIntervalRuleNames.
enum class IntervalRule : std::uint8_t {
  kFixed,    // as configured
  kYoung,    // young_interval_s()
  kDaly,     // daly_interval_s()
  kOptimal,  // optimal_interval_s()
};
inline constexpr std::string_view kIntervalRuleNames[] = {"fixed", "young", "daly", "optimal"};

// What a failure and a checkpoint cost. REQUIRES of all functions: mtbf_s > 0, save_s >= 0, restart_s >= 0;
// save_s and restart_s finite.
struct FailureCosts {
  double mtbf_s = 0;     // mean time between failures of the job, M; infinite: there are none
  double save_s = 0;     // for which training stands still, d
  double restart_s = 0;  // from a failure until training goes on, R
};

// Seconds of training between checkpoints; infinite where there are no failures.
[[nodiscard]] double young_interval_s(const FailureCosts& costs);  // sqrt(2dM)
[[nodiscard]] double daly_interval_s(const FailureCosts& costs);   // higher order; M from d = 2M on
// The interval of the highest efficiency, to rounding. The restart time does not matter to it.
[[nodiscard]] double optimal_interval_s(const FailureCosts& costs);

// No interval is longer: a trillion steps.
inline constexpr std::int64_t kMostIntervalSteps = 1'000'000'000'000;

// Of `step_s` seconds, to the nearest step and at least 1: for CheckpointRule::interval. 0, never, where
// there are no failures. REQUIRES: another rule than kFixed, step_s > 0.
[[nodiscard]] std::int64_t interval_steps(IntervalRule rule, const FailureCosts& costs, double step_s);

}  // namespace goodput
