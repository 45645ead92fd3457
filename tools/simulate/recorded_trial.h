// The first trial of a policy as a chart shows it: lines of few points, and what happened.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "models/scenario/trial_summary.h"
#include "sim/base/json_fwd.h"
#include "tools/simulate/recorded_run.h"

namespace goodput {

inline constexpr std::size_t kMostLinePoints = 500;
inline constexpr std::size_t kMostEvents = 300;
inline constexpr std::size_t kMostDistributionPoints = 200;

// `recorded_trial` of goodput.simulate/1 (docs/formats/simulate.md).
[[nodiscard]] OrderedJson recorded_trial_json(const RecordedRun& run,
                                              std::size_t most_points = kMostLinePoints,
                                              std::size_t most_events = kMostEvents);

// `distribution` of the same: how single trials scatter, as points of the empirical distribution function. Of
// JCTs where some trial reached the goal, else of samples. REQUIRES: trials.
[[nodiscard]] OrderedJson distribution_json(std::span<const TrialSummary> trials,
                                            std::size_t most = kMostDistributionPoints);

}  // namespace goodput
