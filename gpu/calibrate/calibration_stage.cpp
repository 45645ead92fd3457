#include "gpu/calibrate/calibration_stage.h"

#include <cstdio>
#include <utility>

#include "gpu/bench/run_report.h"
#include "gpu/bench/run_words.h"
#include "gpu/calibrate/calibration_header.h"
#include "gpu/calibrate/collective_sweep.h"
#include "gpu/calibrate/stop_signal.h"
#include "gpu/calibrate/sweep_list.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr const char* kQuickSizes = "quick: sizes are too small for meaningful numbers";

std::size_t points_in(const std::vector<Sweep>& sweeps) {
  std::size_t points = 0;
  for (const Sweep& sweep : sweeps) points += sweep.points.size();
  return points;
}

// Of those that are to be.
std::size_t measured_in(const std::vector<Sweep>& sweeps, const MeasuredPoints& points, int rounds) {
  std::size_t measured = 0;
  for (const Sweep& sweep : sweeps) {
    for (const SweepPoint& point : sweep.points)
      measured += points.has(point.key, sweep.rounds(rounds)) ? 1 : 0;
  }
  return measured;
}

std::string end_text(CalibrationEnd end, std::size_t measured, std::size_t points) {
  const std::string some = std::to_string(measured) + " of " + std::to_string(points) + " points measured";
  switch (end) {
    case CalibrationEnd::kDone:
      return measured == points ? "all " + std::to_string(points) + " points measured" : some;
    case CalibrationEnd::kDeadline:
      return some + (stop_signal() == 0 ? " before the deadline" : " before the stop signal") +
             "; continue with --resume";
    case CalibrationEnd::kGaveUp:
      return some + "; gave up because " + std::to_string(kMostFailures) + " points in a row failed";
  }
  return some;
}

bool any_wrong(const MeasuredPoints& points) {
  for (const VisitRecord* const point : points.points()) {
    if (points.summary(point->key).visit.nwrong.value_or(0) > 0) return true;
  }
  return false;
}

}  // namespace

bench::Deadline StageRequest::deadline() const {
  return {until_stopped(bench::steady_clock()), end_s};
}

void print_line(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

JsonValue header_of(const StageRequest& request, int gpus, const DeviceState& state) {
  const CalibrateOptions& options = request.options;
  return calibration_header({bench::name_of(bench::kTierOfBuild), request.revision,
                             options.date.empty() ? bench::utc_now() : options.date,
                             arguments_that_count(options), options.sizes, gpus, request.nccl},
                            state);
}

void note_machine(const StageRequest& request, const DeviceState& state, CalibrationSession& session) {
  for (const std::string& note : machine_notes(state)) session.note(note);
  if (bench::kTierOfBuild == bench::Tier::kEmulated) session.note(bench::kEmulatedNote);
  if (request.options.sizes == Sizes::kQuick) session.note(kQuickSizes);
}

bool wants_collectives(const CalibrateOptions& options) {
  return !only_with(options.only, {collective_sweep(options.sizes, {{2, {}}, {4, {}}, {8, {}}}, {})}).empty();
}

CalibrationHooks hooks_of(CalibrationSession& session, const DeviceState& state,
                          std::set<std::string>& held_down) {
  CalibrationHooks hooks;
  hooks.append = [&session](const Record& record) { session.append(record); };
  hooks.save = [&session, &state, &held_down] {
    for (const std::string& reason : state.throttle_reasons()) held_down.insert(reason);
    for (const std::string& reason : held_down) session.note("clocks were throttled: " + reason);
    session.save();
  };
  hooks.print = print_line;
  return hooks;
}

StageEnd end_of_stage(const CalibrationOutcome& outcome, const std::vector<Sweep>& sweeps, int rounds,
                      const MeasuredPoints& points) {
  StageEnd end;
  end.has_any = !points.points().empty();
  if (end.has_any || outcome.failed > 0 || stop_signal() != 0)
    print_line(end_text(outcome.end, measured_in(sweeps, points, rounds), points_in(sweeps)));
  if (outcome.failed > 0 || any_wrong(points)) end.status = StageStatus::kWrong;
  return end;
}

}  // namespace goodput::gpu::calibrate
