#include "tools/trace/align_clocks.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace goodput {
namespace {

std::string conflict_note(const Recording& recording, const std::vector<ClockConflict>& conflicts) {
  const ClockConflict& worst = conflicts.front();
  const std::string more =
      conflicts.size() > 1 ? fmt::format(" (and {} more pairs)", conflicts.size() - 1) : "";
  return fmt::format(
      "clocks contradict each other: {} end the same ops {:.1f} ms apart whatever offsets they have{}; "
      "offsets "
      "are uncertain, check which hosts the metadata gives them",
      conflict_name(recording, worst), 1e3 * std::abs(worst.apart_s), more);
}

}  // namespace

std::string clock_time(double seconds) {
  if (std::abs(seconds) >= 1) return fmt::format("{:+.3f} s", seconds);
  return fmt::format("{:+.1f} ms", 1e3 * seconds);
}

std::string conflict_name(const Recording& recording, const ClockConflict& conflict) {
  return fmt::format("{} and {}", worker_name(recording, conflict.worker),
                     conflict.other ? worker_name(recording, *conflict.other)
                                    : std::string("the other replicas of its stage"));
}

RecordedClocks align_clocks(Recording& recording, const OpGraph& graph, ClockAlignment alignment,
                            std::vector<std::string>& notes) {
  RecordedClocks clocks{estimate_clocks(recording, graph)};
  const ClockEstimate& estimate = clocks.estimate;
  clocks.are_aligned =
      alignment == ClockAlignment::kOn || (alignment == ClockAlignment::kAuto && estimate.needs_aligning);
  if (clocks.are_aligned) {
    shift_clocks(recording, graph, clock_shifts(estimate, recording));
    notes.push_back(fmt::format("clocks are up to {} off and were aligned; --align-clocks off keeps them",
                                clock_time(estimate.largest_s).substr(1)));
  } else if (estimate.needs_aligning) {
    notes.push_back(
        fmt::format("clocks are up to {} off and were kept: transfers and launch delays between workers are "
                    "wrong by that",
                    clock_time(estimate.largest_s).substr(1)));
  }
  if (!estimate.conflicts.empty()) notes.push_back(conflict_note(recording, estimate.conflicts));
  return clocks;
}

}  // namespace goodput
