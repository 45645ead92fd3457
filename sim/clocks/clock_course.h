// How the offset of one clock runs over the steps: constant or a line, with jumps.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "sim/clocks/clock_network.h"

namespace goodput {

// What is worth correcting: an order above what clean recordings show.
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

// What a slope and a piece may be.
struct CourseLimits {
  std::size_t least_steps = 5;
  // Fewer steps do not show how they vary: their slope must change the offset by kClockWorthAligningS at
  // least.
  std::size_t enough_steps = 5;
  double steepest = std::numeric_limits<double>::infinity();
  // A piece of fewer steps is not a clock that was set, but noise.
  std::size_t least_piece = 1;
};

// The slope of most of `values` over x, whatever a few jumps do: the median over points an eighth of the
// series apart. 0 for fewer than the least steps, and where it is too steep.
[[nodiscard]] double steady_slope(std::span<const double> values, std::span<const double> x,
                                  const CourseLimits& limits);

// A piece has limits.least_piece steps and differs from its neighbours by more than 0.5 ms and six times the
// noise of both. `series` by step; `slope`: about what it is; a slope that stays within its own noise, or
// outside the limits, becomes 0.
// `slack`, by step: a piece may be short if its steps have no slack for the offset of its neighbours; empty:
// all have.
[[nodiscard]] ClockCourse fit_course(std::span<const ClockDifference> series, std::span<const double> x,
                                     double slope, const CourseLimits& limits,
                                     const std::vector<ClockSlack>& slack = {});

}  // namespace goodput
