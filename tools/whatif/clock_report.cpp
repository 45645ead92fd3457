#include "tools/whatif/clock_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/json.h"

namespace goodput {
namespace {

constexpr std::size_t kMostClocks = 8;
constexpr std::size_t kMostConflicts = 10;

double largest_offset(const Clock& clock) {
  double largest = std::abs(clock.offset_s);
  for (const ClockJump& jump : clock.jumps)
    largest = std::max({largest, std::abs(jump.from_s), std::abs(jump.to_s)});
  return largest;
}

// Beyond what is worth aligning, offset or drift, the worst offset first.
std::vector<const Clock*> clocks_off(const ClockEstimate& estimate) {
  std::vector<const Clock*> off;
  for (const Clock& clock : estimate.clocks) {
    if (clock.is_drifting || largest_offset(clock) > kClockWorthAligningS) off.push_back(&clock);
  }
  std::stable_sort(off.begin(), off.end(),
                   [](const Clock* x, const Clock* y) { return largest_offset(*x) > largest_offset(*y); });
  return off;
}

std::string clock_row(const Clock& clock) {
  std::string row = fmt::format("              {:<20} {:>11}", clock.name, clock_time(clock.offset_s));
  if (clock.drift) row += fmt::format("   {:+.1f} ppm", 1e6 * *clock.drift);
  for (const ClockJump& jump : clock.jumps)
    row += fmt::format("   jumps from {} to {} at step {}", clock_time(jump.from_s), clock_time(jump.to_s),
                       jump.step);
  return row + '\n';
}

}  // namespace

std::string clock_text(const Analysis& analysis) {
  const ClockEstimate& estimate = analysis.clocks.estimate;
  if (estimate.clocks.size() < 2 || (!analysis.clocks.are_aligned && !estimate.needs_aligning)) return {};
  const std::vector<const Clock*> off = clocks_off(estimate);
  if (off.empty() && analysis.grid.naming == WorkerGrid::Naming::kByRank) return {};
  std::string text = fmt::format(
      "  clocks      {} of {} {}, {}\n", off.size(), estimate.clocks.size(),
      off.empty() || estimate.largest_s > kClockWorthAligningS ? "off by more than 5 ms" : "drifting",
      analysis.clocks.are_aligned ? "corrected" : "not corrected");
  for (std::size_t i = 0; i < std::min(off.size(), kMostClocks); ++i) text += clock_row(*off[i]);
  if (off.size() > kMostClocks) text += fmt::format("              and {} more\n", off.size() - kMostClocks);
  return text;
}

void add_clock_json(const Analysis& analysis, OrderedJson& json) {
  const ClockEstimate& estimate = analysis.clocks.estimate;
  OrderedJson clocks = OrderedJson::array();
  for (const Clock& clock : estimate.clocks) {
    OrderedJson jumps = OrderedJson::array();
    for (const ClockJump& jump : clock.jumps)
      jumps.push_back({{"step", jump.step}, {"from_s", jump.from_s}, {"to_s", jump.to_s}});
    clocks.push_back({{"host", clock.name},
                      {"offset_s", clock.offset_s},
                      {"drift_ppm", clock.drift ? OrderedJson(1e6 * *clock.drift) : OrderedJson(nullptr)},
                      {"jumps", std::move(jumps)}});
  }
  OrderedJson conflicts = OrderedJson::array();
  for (std::size_t i = 0; i < std::min(estimate.conflicts.size(), kMostConflicts); ++i) {
    const ClockConflict& conflict = estimate.conflicts[i];
    conflicts.push_back({{"pair", conflict_name(analysis.grid, conflict)}, {"apart_s", conflict.apart_s}});
  }
  json["clocks_aligned"] = analysis.clocks.are_aligned;
  json["clocks"] = std::move(clocks);
  json["clock_conflicts"] = std::move(conflicts);
}

}  // namespace goodput
