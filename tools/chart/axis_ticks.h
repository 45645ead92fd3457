// Where an axis has its marks, and what they say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace goodput {

struct AxisTick {
  double value = 0;
  std::string label;
};

struct Axis {
  double most = 1;   // where it ends: a tick or behind the last one
  std::string unit;  // of the labels; empty: none
  std::vector<AxisTick> ticks;
};

// From 0 to the first mark at or behind `most`, with at most `marks` of them beside 0, at multiples of 1, 2
// or 5 times a power of ten, whole ones; thousands as k, millions as M and so on. REQUIRES: most >= 0, marks
// > 0.
[[nodiscard]] Axis count_axis(double most, int marks);

// From 0 to exactly `seconds`, with marks at round seconds, minutes, hours or days. REQUIRES: seconds >= 0.
[[nodiscard]] Axis time_axis(double seconds);

}  // namespace goodput
