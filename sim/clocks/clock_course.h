// How the offset of one clock runs over the steps: constant or a line, with jumps.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "sim/clocks/clock_network.h"

namespace goodput {

// The smallest offset worth correcting: ten times what clean recordings show.
inline constexpr double kClockWorthAligningS = 5e-3;

// From first_step to the next piece.
struct ClockPiece {
  std::size_t first_step = 0;  // index into the analysed steps
  double offset_s = 0;         // where x is 0
  double noise_s = 0;          // standard error
};

struct ClockCourse {
  std::vector<ClockPiece> pieces;
  double slope = 0;           // seconds a unit of x, the same in all pieces
  double measured_slope = 0;  // also where it is not sure, and the slope is 0
  // Standard error of the slope, judged by the noise of the steps and by what a line leaves of them.
  double slope_noise = std::numeric_limits<double>::infinity();

  [[nodiscard]] const ClockPiece& piece_of(std::size_t step) const;
  [[nodiscard]] double offset_s(std::size_t step, double x) const {
    return piece_of(step).offset_s + slope * x;
  }
};

// Limits for slopes and pieces.
struct CourseLimits {
  std::size_t least_steps = 5;
  // In fewer steps the noise is unknown, so the slope must change the offset by at least
  // kClockWorthAligningS.
  std::size_t enough_steps = 5;
  double steepest = std::numeric_limits<double>::infinity();
  // A shorter piece is noise, not a clock that was set.
  std::size_t least_piece = 1;
};

// A slope of `values` over x that a few jumps do not change: the median over pairs of points an eighth of the
// series apart. 0 if there are too few steps or if the slope is too steep.
[[nodiscard]] double steady_slope(std::span<const double> values, std::span<const double> x,
                                  const CourseLimits& limits);

// A piece has at least limits.least_piece steps and differs from its neighbors by more than 0.5 ms and more
// than six times the noise of both. A shorter piece is kept if `slack` shows that its steps rule out the
// offsets of its neighbors. `series` and `slack` are by step; an empty `slack` rules nothing out. `slope` is
// a first estimate. A slope within its own noise, or outside the limits, becomes 0.
[[nodiscard]] ClockCourse fit_course(std::span<const ClockDifference> series, std::span<const double> x,
                                     double slope, const CourseLimits& limits,
                                     const std::vector<ClockSlack>& slack = {});

}  // namespace goodput
