// The points of a sweep as a chart needs them: what was varied, and what came of it by metric.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/json_fwd.h"
#include "tools/sweep/store/point_rows.h"
#include "tools/sweep/store/sweep_folder.h"
#include "tools/sweep/sweep_summary.h"

namespace goodput {

// A policy at a point where it ran.
struct SweepOutcome {
  std::uint64_t point = 0;
  std::uint32_t policy = 0;  // in the order in which they came up
  bool is_finished = false;  // every trial reached the goal
  std::uint64_t trials = 0;
  std::array<std::optional<Estimate>, kSweepMetrics.size()> estimates{};
};

class SweepOutcomes {
 public:
  // What is added beyond so many is counted and not kept.
  static constexpr std::size_t kMostKept = 500'000;
  // In JSON.
  static constexpr std::size_t kMostRows = 4'000;

  // REQUIRES: in the order of the points.
  void add(const PointRows& rows);

  // `outcomes` of goodput.sweep/1 (docs/formats/sweeps.md). Of too many rows those that count first: the best
  // points, the lines through them along one parameter, what there is to choose between cost and time; then
  // as many others as there is room for, evenly. REQUIRES: `best` is of the same points.
  [[nodiscard]] OrderedJson json(const SweepManifest& manifest, const std::vector<SweepSummary::Best>& best,
                                 std::size_t most = kMostRows) const;

 private:
  std::vector<std::string> policies_{};
  std::vector<SweepOutcome> rows_{};
  std::uint64_t count_ = 0;
};

}  // namespace goodput
