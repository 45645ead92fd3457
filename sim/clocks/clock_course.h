// How the offset of one clock runs over the steps: constant or a line, with jumps.
#pragma once

#include <cstddef>
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
  double slope = 0;  // seconds a unit of x, the same in all pieces

  [[nodiscard]] const ClockPiece& piece_of(std::size_t step) const;
  [[nodiscard]] double offset_s(std::size_t step, double x) const {
    return piece_of(step).offset_s + slope * x;
  }
};

// The slope of most of `values` over x, whatever a few jumps do: the median over points an eighth of the
// series apart. 0 for fewer than five.
[[nodiscard]] double steady_slope(std::span<const double> values, std::span<const double> x);

// A jump is a change by more than 5 ms and six times the noise of what is before and after it. `series` by
// step; `slope`: about what it is; a slope that stays within its own noise becomes 0.
[[nodiscard]] ClockCourse fit_course(std::span<const ClockDifference> series, std::span<const double> x,
                                     double slope);

}  // namespace goodput
