#include "gpu/calibrate/calibrate_program.h"

#include <cstdio>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <utility>

#include "gpu/bench/run_report.h"
#include "gpu/calibrate/calibration_header.h"
#include "gpu/calibrate/calibration_session.h"
#include "gpu/calibrate/matmul.h"
#include "gpu/calibrate/run_calibration.h"
#include "gpu/calibrate/sentinels.h"
#include "gpu/calibrate/stop_signal.h"
#include "gpu/calibrate/stopping_rule.h"
#include "gpu/calibrate/sweep_list.h"
#include "gpu/device.h"

namespace goodput::gpu::calibrate {
namespace {

enum CalibrateExit { kCalibrated = 0, kCalibrateFailed = 1, kCalibrateWrong = 2, kCalibrateSkipped = 77 };
constexpr int kBySignal = 128;

constexpr const char* kEmulatedTimes = "emulated: times mean nothing";
constexpr const char* kQuickSizes = "quick: sizes are too small for figures";

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// At once: a run that is killed shall have shown what it knew.
void print_line(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::vector<Sweep> chosen_sweeps(const CalibrateOptions& options, const SweepRequest& request) {
  std::vector<Sweep> sweeps = all_sweeps(request);
  return options.only.empty() ? sweeps : only_with(options.only, std::move(sweeps));
}

void check_ranks(const CalibrateOptions& options, int gpus) {
  if (options.ranks <= gpus) return;
  throw std::invalid_argument("--ranks is " + std::to_string(options.ranks) + ", but " +
                              (gpus == 1 ? "there is 1 GPU" : "there are " + std::to_string(gpus) + " GPUs") +
                              ": one a rank, for ranks that share one have no times");
}

bool any_wrong(const MeasuredPoints& points) {
  for (const VisitRecord* const point : points.points()) {
    if (points.summary(point->key).visit.nwrong.value_or(0) > 0) return true;
  }
  return false;
}

std::size_t points_in(const std::vector<Sweep>& sweeps) {
  std::size_t points = 0;
  for (const Sweep& sweep : sweeps) points += sweep.points.size();
  return points;
}

std::string end_text(CalibrationEnd end, std::size_t measured, std::size_t points) {
  const std::string some = std::to_string(measured) + " of " + std::to_string(points) + " points measured";
  switch (end) {
    case CalibrationEnd::kDone:
      return measured >= points ? "all " + std::to_string(points) + " points measured" : some;
    case CalibrationEnd::kDeadline:
      return some + (stop_signal() == 0 ? " before the deadline" : " when told to stop") +
             "; --resume goes on";
    case CalibrationEnd::kGaveUp:
      return some + "; gave up, for " + std::to_string(kMostFailures) + " failed in a row";
  }
  return some;
}

// Of those that are to be.
std::size_t measured_in(const std::vector<Sweep>& sweeps, const MeasuredPoints& points, int rounds) {
  std::size_t measured = 0;
  for (const Sweep& sweep : sweeps) {
    for (const SweepPoint& point : sweep.points) measured += points.has(point.key, rounds) ? 1 : 0;
  }
  return measured;
}

// Measures what is missing. Returns the exit status.
int measure_missing(const CalibrateOptions& options, std::vector<Sweep> sweeps, const DeviceState& state,
                    CalibrationSession& session) {
  const bench::Clock clock = until_stopped(bench::steady_clock());
  const bench::Deadline deadline{clock, clock() + options.deadline_s};
  PointMeasurer measurer(rule_for(options.sizes), deadline);
  const CalibrationPlan plan{std::move(sweeps), sentinels(options.sizes), bench::name_of(bench::kTierOfBuild),
                             options.rounds, options.seed};
  const auto save = [&] {
    for (const std::string& reason : state.throttle_reasons())
      session.note("clocks were held down: " + reason);
    session.save();
  };
  const CalibrationOutcome outcome = run_calibration(
      plan,
      {[&] { measurer.begin_sweep(); },
       [&](const SweepPoint& point, Checking checking) { return point.visit(measurer, checking); },
       [&](const Record& record) { session.append(record); }, save, print_line},
      deadline, session.points());
  if (session.points().points().empty() && outcome.failed == 0 && stop_signal() == 0) {
    throw std::runtime_error("nothing was measured before the deadline; give more with --deadline-s");
  }
  print_line(
      end_text(outcome.end, measured_in(plan.sweeps, session.points(), plan.rounds), points_in(plan.sweeps)));
  if (outcome.failed > 0 || any_wrong(session.points())) return kCalibrateWrong;
  if (stop_signal() != 0) return kBySignal + stop_signal();
  return kCalibrated;
}

int calibrate(const CalibrateOptions& options, const std::string& revision) {
  bench::OutputFile file(options.out);
  const DeviceSearch search = find_devices();
  if (search.count == 0) {
    std::printf("skipped: %s\n", search.why_none.c_str());
    return kCalibrateSkipped;
  }
  check_ranks(options, search.count);
  if (const MatmulSearch matmul = find_matmul(); !matmul.why_none.empty())
    throw std::runtime_error(matmul.why_none);
  const DeviceState state(bus_id());
  SweepRequest request;
  request.sizes = options.sizes;
  request.device = copy_device();
  request.power_w = [&state] { return state.power_w(); };
  std::vector<Sweep> sweeps = chosen_sweeps(options, request);

  const char* const tier = bench::name_of(bench::kTierOfBuild);
  const std::string date = options.date.empty() ? utc_now() : options.date;
  const JsonValue header = calibration_header(
      {tier, revision, date, arguments_that_count(options), options.sizes, search.count, ""}, state);
  CalibrationSession session(options, std::move(file), header);
  for (const std::string& note : machine_notes(state)) session.note(note);
  if (bench::kTierOfBuild == bench::Tier::kEmulated) session.note(kEmulatedTimes);
  if (options.sizes == Sizes::kQuick) session.note(kQuickSizes);
  try {
    const int status = measure_missing(options, std::move(sweeps), state, session);
    session.close();
    return status;
  } catch (...) {
    session.close();
    throw;
  }
}

}  // namespace

int run_calibrate_program(const std::vector<std::string>& arguments, const std::string& revision) {
  try {
    const CalibrateOptions options = parse_calibrate_options(arguments);
    if (options.help) {
      std::printf("%s", calibrate_help().c_str());
      return kCalibrated;
    }
    if (options.list) {
      SweepRequest request;
      request.sizes = options.sizes;
      std::printf("%s", list_text(chosen_sweeps(options, request), options.rounds).c_str());
      return kCalibrated;
    }
    remember_stop_signals();
    return calibrate(options, revision);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "goodput-calibrate: %s\n", error.what());
    return kCalibrateFailed;
  }
}

}  // namespace goodput::gpu::calibrate
