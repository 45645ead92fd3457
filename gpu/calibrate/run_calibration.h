// A calibration in its order: sweep by sweep, every round of a sweep in a shuffled order, then a visit more
// to points of which the rounds differ. Between points, every half minute: sentinels, which tell whether the
// machine is still the same; where one has moved, what was measured since is done again once. Host only: what
// visits and what is told the time are functions passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/bench/sampling.h"
#include "gpu/calibrate/measured_points.h"

namespace goodput::gpu::calibrate {

// Thrown by a visit that could not be made for want of something, memory for example: the device is as good
// as before. One line.
class PointLeftOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CalibrationPlan {
  std::vector<Sweep> sweeps;
  std::vector<SweepPoint> sentinels;
  std::string tier;  // of what is measured
  int rounds;
  std::uint64_t seed;        // of the shuffled orders
  double look_every_s = 30;  // at the sentinels, with save()
};

struct CalibrationHooks {
  std::function<void()> begin_sweep;  // before the first visit of it
  std::function<Visit(const SweepPoint&, Checking)> visit;
  std::function<void(const Record&)> append;  // to the journal, before anything else is measured
  std::function<void()> save;                 // what `append` got so far, as a file
  std::function<void(const std::string& line)> print;
};

enum class CalibrationEnd : std::uint8_t { kDone, kDeadline, kGaveUp };
struct CalibrationOutcome {
  CalibrationEnd end;
  int failed;  // visits
};

// Goes on from `points`, and adds to it. A point that throws is noted and left out; after kMostFailures in a
// row (PointLeftOut not counted) it gives up. Throws what `append` and `save` throw.
[[nodiscard]] CalibrationOutcome run_calibration(const CalibrationPlan& plan, const CalibrationHooks& hooks,
                                                 const bench::Deadline& deadline, MeasuredPoints& points);
inline constexpr int kMostFailures = 3;

// The points of a sweep in the order of a round: the same for the same seed, everywhere.
[[nodiscard]] std::vector<const SweepPoint*> order_of_round(const Sweep& sweep, int round,
                                                            std::uint64_t seed);

}  // namespace goodput::gpu::calibrate
