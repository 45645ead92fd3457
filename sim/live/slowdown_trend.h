// Whether a series rises, and since when.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace goodput {

struct SlowdownTrend {
  double rise = 0;  // over all values
  double last = 0;  // about where they are in the end
  double z = 0;     // of the test, in standard deviations
  // Where the rise began: flat before, a step up or a line that rises from here on (least squares).
  std::size_t onset = 0;
};

// A rise of at least `least`, none of chance, or nothing.
//
// Whether: the test of Mann and Kendall (Mann 1945; Kendall 1975, without ties), which asks of any two values
// only which one is larger. It is asked again at every step, of windows that overlap, so z must reach 5: of
// 10,000 steps of normal noise in windows of 100 none does (a test). How much: along the line of Theil and
// Sen (the median of the slopes between any two values), or from the median before the onset to that behind
// it, whichever is more: the first sees lines, the second steps, and single values that are far off move
// neither. O(values^2).
[[nodiscard]] std::optional<SlowdownTrend> find_rise(const std::vector<double>& values, double least);

}  // namespace goodput
