#include "tools/trace/align_clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace goodput {
namespace {

constexpr double kMostSpacingS = 1e-3;

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

// `up to 50.0 ms off`; `drifting by up to 50.0 ppm, up to 1.8 ms off` where offsets alone are no reason.
std::string how_far(const ClockEstimate& estimate) {
  const std::string off = fmt::format("up to {} off", clock_time(estimate.largest_s).substr(1));
  if (estimate.largest_s > kClockWorthAligningS) return off;
  double drift = 0;
  for (const Clock& clock : estimate.clocks) drift = std::max(drift, std::abs(clock.drift.value_or(0)));
  return fmt::format("drifting by up to {:.1f} ppm, {}", 1e6 * drift, off);
}

// How far apart the values of a float32 are where the latest op starts, as recorded; 0 of float64 times.
double spacing_of_times(const Recording& recording) {
  if (!recording.float32_times) return 0;
  double latest = 0;
  for (const StepBlock& block : recording.blocks) {
    for (std::size_t at = 0; at < block.start_s.size(); ++at) {
      const std::size_t lane = at % block.shape.stride();
      if (lane >= block.shape.lanes()) continue;
      const std::size_t step = block.first_step + lane % block.shape.steps;
      const double moved = recording.subtracted_s.empty() ? 0.0 : recording.subtracted_s[step];
      latest = std::max(latest, std::abs(block.start_s[at] + moved));
    }
  }
  const auto time = static_cast<float>(latest);
  return std::nextafter(time, std::numeric_limits<float>::infinity()) - time;
}

std::string what_was_done(const ClockEstimate& estimate, bool are_aligned, double spacing_s) {
  const std::string far = how_far(estimate);
  if (are_aligned) return fmt::format("clocks are {} and were aligned; --align-clocks off keeps them", far);
  if (spacing_s > kMostSpacingS)
    return fmt::format(
        "clocks look {} and were kept: times are float32, in steps of {:.1f} ms, which looks the same; write "
        "them as float64, or relative to the start of their step, or --align-clocks on",
        far, 1e3 * spacing_s);
  return fmt::format(
      "clocks are {} and were kept: transfers and launch delays between workers are wrong by that", far);
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
  const bool is_automatic = alignment == ClockAlignment::kAuto && estimate.needs_aligning;
  const double spacing_s = is_automatic ? spacing_of_times(recording) : 0;
  clocks.are_aligned = alignment == ClockAlignment::kOn || (is_automatic && spacing_s <= kMostSpacingS);
  if (clocks.are_aligned || estimate.needs_aligning)
    notes.push_back(what_was_done(estimate, clocks.are_aligned, spacing_s));
  if (clocks.are_aligned) shift_clocks(recording, graph, clock_shifts(estimate, recording));
  if (!estimate.conflicts.empty()) notes.push_back(conflict_note(recording, estimate.conflicts));
  return clocks;
}

}  // namespace goodput
