// A sweep: one scenario with some of its values varied, and how often each point is run.
//
// configs/sweeps/*.json (format: docs/formats/sweeps.md), strict as all configs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/sweep/stopping_rule.h"
#include "models/sweep/sweep_axis.h"
#include "sim/base/errors.h"
#include "sim/config/changes.h"
#include "sim/config/config.h"

namespace goodput {

inline constexpr config::Kind kSweepFiles{"sweeps", "sweep"};

// Which points there are of all that the axes span.
enum class SweepDesign : std::uint8_t {
  kGrid,   // every value with every value
  kList,   // the first values of all axes, the second ones, ...
  kLatin,  // a Latin hypercube: drawn so that every axis is covered evenly
};
inline constexpr std::string_view kSweepDesignNames[] = {"grid", "list", "latin"};

inline constexpr std::int64_t kMostSweepPoints = 1'000'000;
inline constexpr std::int64_t kMostSweepTrials = 10'000'000;

struct SweepConfig {
  std::string scenario{};             // a path or a name
  std::vector<config::Change> set{};  // at every point, before what varies
  std::vector<SweepAxis> vary{};
  SweepDesign design = SweepDesign::kGrid;
  std::int64_t points = 0;  // of a Latin hypercube
  std::int64_t trials = 0;  // of every policy, or with a stopping rule the first ones; 0: as in the scenario
  std::optional<StoppingRule> until{};
  std::int64_t max_trials = 10'000;
  std::vector<std::string> policies{};  // those of the scenario that run; none: all
};
[[nodiscard]] config::Fields config_fields(SweepConfig& sweep);

}  // namespace goodput
