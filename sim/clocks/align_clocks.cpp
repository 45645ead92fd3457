#include "sim/clocks/align_clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "sim/clocks/clock_set.h"
#include "sim/recording/step_removal.h"

namespace goodput {
namespace {

constexpr double kMostSpacingS = 1e-3;

std::string conflict_note(const Recording& recording, const std::vector<ClockConflict>& conflicts) {
  const ClockConflict& worst = conflicts.front();
  const std::string more =
      conflicts.size() > 1 ? fmt::format(" (and {} more pairs)", conflicts.size() - 1) : "";
  return fmt::format(
      "clocks contradict each other: with any clock offsets, {} end the same ops {:.1f} ms apart{}, so the "
      "offsets are uncertain; check the hosts in the metadata",
      conflict_name(recording, worst), 1e3 * std::abs(worst.apart_s), more);
}

// `up to 50.0 ms off`; `up to 1.8 ms off (drifting by up to 50.0 ppm)` if offsets alone are no reason.
std::string how_far(const ClockEstimate& estimate) {
  std::string off = fmt::format("up to {} off", clock_time(estimate.largest_s).substr(1));
  if (estimate.largest_s > kClockWorthAligningS) return off;
  double drift = 0;
  for (const Clock& clock : estimate.clocks) {
    if (clock.is_drifting) drift = std::max(drift, std::abs(clock.drift.value_or(0)));
  }
  if (drift == 0) return off;
  return fmt::format("{1} (drifting by up to {0:.1f} ppm)", 1e6 * drift, off);
}

// The distance between neighboring float32 values at the latest recorded start; 0 for float64 times.
double spacing_of_times(const Recording& recording) {
  if (!recording.were_float32) return 0;
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
  if (are_aligned)
    return fmt::format("clocks are {} and were aligned; to keep the recorded times, turn clock alignment off",
                       far);
  if (spacing_s > kMostSpacingS)
    return fmt::format(
        "clocks look {} but were not aligned, because float32 times that are rounded to {:.1f} ms look the "
        "same; write times as float64 or relative to the start of each step, or turn clock alignment on",
        far, 1e3 * spacing_s);
  return fmt::format(
      "clocks are {} and were not aligned, so transfers and launch delays between workers are wrong by the "
      "same amount",
      far);
}

// The changes grouped by step, ascending.
std::vector<std::span<const DifferenceChange>> by_step(const std::vector<DifferenceChange>& changes) {
  std::vector<std::span<const DifferenceChange>> steps;
  for (std::size_t first = 0; first < changes.size();) {
    std::size_t end = first;
    while (end < changes.size() && changes[end].step == changes[first].step) ++end;
    steps.push_back(std::span(changes).subspan(first, end - first));
    first = end;
  }
  return steps;
}

// Clocks that were set inside steps, and the estimate without these steps.
class StepsWithSets {
 public:
  StepsWithSets(const Recording& recording, const OpGraph& graph)
      : changes_(find_changes_inside_steps(recording, graph)), steps_(by_step(changes_)) {
    for (const auto& step : steps_) numbers_.push_back(recording.steps[step.front().step]);
    has_first_step_ = !steps_.empty() && steps_.front().front().step == 0;
  }

  [[nodiscard]] bool are_too_many() const { return !steps_.empty() && !are_left_out_; }

  void leave_out(Recording& recording) {
    if (2 * steps_.size() > recording.steps.size()) return;
    std::vector<std::size_t> indices;
    for (const auto& step : steps_) indices.push_back(step.front().step);
    leave_out_steps(recording, indices);
    are_left_out_ = true;
  }

  // `step 5 is left out because the clock of rank 1 jumped by 500.0 ms during it`
  void report(const Recording& recording, RecordedClocks& clocks, std::vector<std::string>& notes) const {
    std::size_t first = 0;
    if (are_left_out_ && has_first_step_) {
      const ClockSet set = explain_changes(steps_.front(), recording, clocks.estimate.clock_of_worker);
      clocks.left_out.push_back(
          {CleaningRule::kWarmUp,
           1,
           {numbers_.front()},
           fmt::format("the first messages of {} in step {} have sender and receiver times {} further apart "
                       "than later messages, as if connections were being set up",
                       whose(set, clocks), numbers_.front(), clock_time(std::abs(set.by_s)).substr(1))});
      first = 1;
    }
    if (first == steps_.size()) return;
    const ClockSet set = explain_changes(steps_[first], recording, clocks.estimate.clock_of_worker);
    const std::string what = fmt::format("the clock of {} jumped by {}", whose(set, clocks),
                                         clock_time(std::abs(set.by_s)).substr(1));
    const std::vector<std::int64_t> sets(numbers_.begin() + static_cast<std::ptrdiff_t>(first),
                                         numbers_.end());
    if (!are_left_out_) {
      notes.push_back(
          fmt::format("clocks are inconsistent: {} during step {}, and clocks jumped during {} of {} steps, "
                      "which is too many to leave out; fix the clocks and record again",
                      what, numbers_.front(), numbers_.size(), recording.steps.size()));
      return;
    }
    const std::string more =
        sets.size() > 1 ? fmt::format("; other steps left out for the same reason: {}", sets.size() - 1) : "";
    notes.push_back(
        fmt::format("step {} is left out because {} during this step{}", sets.front(), what, more));
    clocks.left_out.push_back(
        {CleaningRule::kClockSets, sets.size(), sets, fmt::format("{} during step {}", what, sets.front())});
  }

 private:
  static std::string whose(const ClockSet& set, const RecordedClocks& clocks) {
    const std::string own = clocks.estimate.clocks[set.clock].name;
    return set.other ? own + " or " + clocks.estimate.clocks[*set.other].name : own;
  }

  std::vector<DifferenceChange> changes_;
  std::vector<std::span<const DifferenceChange>> steps_;  // of changes_
  std::vector<std::int64_t> numbers_;
  bool are_left_out_ = false;
  bool has_first_step_ = false;  // steps_ begins with the first of the recording
};

// Drops the steps and adds a note. Returns false, and drops none, if they are more than half of all steps.
// `name_of` names a clock.
template <typename NameOf>
bool leave_out_sets(Recording& recording, const std::vector<SetStep>& sets, NameOf name_of,
                    std::vector<CleaningFinding>& left_out, std::vector<std::string>& notes) {
  if (sets.empty() || 2 * sets.size() > recording.steps.size()) return false;
  CleaningFinding finding{CleaningRule::kClockSets, sets.size(), {}, {}};
  std::vector<std::size_t> indices;
  for (const SetStep& found : sets) {
    indices.push_back(found.step);
    finding.steps.push_back(recording.steps[found.step]);
  }
  const ClockSet& first = sets.front().set;
  const std::string what = fmt::format("the clock of {} jumped by {}", name_of(first.clock),
                                       clock_time(std::abs(first.by_s)).substr(1));
  finding.detail = fmt::format("{} during step {}", what, finding.steps.front());
  notes.push_back(
      fmt::format("step {} is left out because {} during this step", finding.steps.front(), what));
  left_out.push_back(std::move(finding));
  leave_out_steps(recording, indices);
  return true;
}

}  // namespace

std::string clock_time(double seconds) {
  if (std::abs(seconds) >= 1) return fmt::format("{:+.3f} s", seconds);
  return fmt::format("{:+.1f} ms", 1e3 * seconds);
}

std::string conflict_name(const WorkerGrid& grid, const ClockConflict& conflict) {
  return fmt::format(
      "{} and {}", worker_name(grid, conflict.worker),
      conflict.other ? worker_name(grid, *conflict.other) : std::string("the other replicas of its stage"));
}

RecordedClocks align_clocks(Recording& recording, const OpGraph& graph, ClockAlignment alignment,
                            std::vector<std::string>& notes) {
  // Jobs seen by their collectives are recorded for seconds, and their ops overlap: no order shows a clock
  // set.
  const bool looks_for_sets = alignment != ClockAlignment::kOff &&
                              recording.naming == WorkerGrid::Naming::kByPlace &&
                              spacing_of_times(recording) <= kMostSpacingS;
  RecordedClocks clocks;
  std::optional<StepsWithSets> sets;
  if (looks_for_sets) {
    const auto name_of = [&](std::uint32_t worker) { return worker_name(recording, worker); };
    leave_out_sets(recording, find_ops_out_of_order(recording), name_of, clocks.left_out, notes);
    sets.emplace(recording, graph);
    sets->leave_out(recording);
  }
  clocks.estimate = estimate_clocks(recording, graph);
  if (sets) {
    sets->report(recording, clocks, notes);
    const auto name_of = [&](std::uint32_t clock) { return clocks.estimate.clocks[clock].name; };
    if (!sets->are_too_many() && leave_out_sets(recording, find_sets_at_jumps(recording, clocks.estimate),
                                                name_of, clocks.left_out, notes))
      clocks.estimate = estimate_clocks(recording, graph);
  }
  const ClockEstimate& estimate = clocks.estimate;
  const bool is_automatic = alignment == ClockAlignment::kAuto && estimate.needs_aligning;
  const double spacing_s = is_automatic ? spacing_of_times(recording) : 0;
  clocks.are_aligned = alignment == ClockAlignment::kOn || (is_automatic && spacing_s <= kMostSpacingS);
  // Small offsets are always taken off jobs seen by their collectives: nothing to tell.
  const bool is_usual = recording.naming == WorkerGrid::Naming::kByRank && !estimate.needs_aligning;
  if ((clocks.are_aligned && !is_usual) || estimate.needs_aligning)
    notes.push_back(what_was_done(estimate, clocks.are_aligned, spacing_s));
  if (clocks.are_aligned) shift_clocks(recording, graph, clock_shifts(estimate, recording));
  if (!estimate.conflicts.empty()) notes.push_back(conflict_note(recording, estimate.conflicts));
  return clocks;
}

}  // namespace goodput
