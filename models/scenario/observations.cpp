#include "models/scenario/observations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/failure/failure_draws.h"

namespace goodput {
namespace {

using Starts = RecordingReplay::Starts;

constexpr double kIdealTimes = 2;  // that a job may take under failures

std::string span_text(SimDuration span) {
  const double hours = to_seconds(span) / 3600;
  if (hours < 1) return fmt::format("{:.1f} min", 60 * hours);
  return hours < 72 ? fmt::format("{:.1f} h", hours) : fmt::format("{:.1f} days", hours / 24);
}

double samples_of(const Scenario& scenario, const JobModel& job) {
  const JobGoal goal = scenario.goal();
  const double per_step = static_cast<double>(job.plan().parallel.global_batch);
  double samples = HUGE_VAL;
  if (goal.samples) samples = static_cast<double>(*goal.samples);
  if (goal.steps) samples = std::min(samples, static_cast<double>(*goal.steps) * per_step);
  return samples;
}

// A recording of the scenario, and how it is replayed.
struct Recording {
  RecordingReplay replay{};
  const FailureSource* source = nullptr;
};

std::string random_note(const Recording& recording) {
  const double times = to_seconds(recording.replay.length) / to_seconds(recording.source->window);
  return fmt::format(
      "each trial starts at a different moment of {} ({} long, {:.3g} times as long as the job may take)",
      recording.source->trace->file, span_text(recording.replay.length), times);
}

// What would have to be other for trials to start at random moments.
std::string remedy(const Recording& recording) {
  const SimDuration window = recording.source->window;
  if (recording.replay.starts == Starts::kChosen) {
    if (window >= recording.replay.length) return "";
    return "; \"starts\": \"random\" lets each trial start at a different moment";
  }
  if (window == SimDuration{}) return "";
  return fmt::format("; random starts require a recording of at least {} x {}, but this recording is {} long",
                     kWindowsForRandomStarts, span_text(window), span_text(recording.replay.length));
}

}  // namespace

SimDuration recording_window(const Scenario& scenario, const JobModel& job) {
  double seconds =
      kIdealTimes * job.ideal_node_seconds_per_sample() * samples_of(scenario, job) / job.plan_nodes();
  if (scenario.duration > SimDuration{}) seconds = std::min(seconds, to_seconds(scenario.duration));
  return seconds < to_seconds(kFailureHorizon - SimTime{}) ? from_seconds(seconds) : SimDuration{};
}

Observations observations_of(const Scenario& scenario, std::span<const FailureSource> sources,
                             std::int64_t trials) {
  if (trials <= 1) return {trials, false, ""};
  const RecordingReplays replays = replays_of(scenario, sources, /*seed=*/0, /*trial=*/0);
  std::optional<Recording> fixed;
  std::optional<Recording> random;
  bool has_others = false;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    if (!replays[i]) {
      has_others = true;
    } else {
      (replays[i]->starts == Starts::kRandom ? random : fixed) = Recording{*replays[i], &sources[i]};
    }
  }
  if (!fixed) return {trials, false, random ? random_note(*random) : ""};
  const std::string& file = fixed->source->trace->file;
  if (has_others || random) {
    return {trials, true,
            fmt::format("every trial replays {} from the same moment, so confidence intervals do not cover "
                        "how much another recording would differ{}",
                        file, remedy(*fixed))};
  }
  return {1, true,
          fmt::format("one run, because every trial would replay {} from the same moment{}", file,
                      remedy(*fixed))};
}

}  // namespace goodput
