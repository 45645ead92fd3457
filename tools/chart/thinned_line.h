// A line with fewer points that looks the same: for charts that are drawn from a result.
#pragma once

#include <cstddef>
#include <vector>

namespace goodput {

struct LinePoint {
  double x = 0;
  double y = 0;

  friend bool operator==(const LinePoint&, const LinePoint&) = default;
};

struct ThinnedLine {
  std::vector<LinePoint> points{};
  std::size_t of = 0;  // points that the line had
  double within = 0;   // how far a point that was left out lies above or below the line, at the most
};

// Of the line at most so many points, those at which it turns most: its ends, and then, again and again, the
// point that lies furthest from what is there (Douglas and Peucker, Cartographica 10, 1973, with a budget in
// place of a tolerance). Distances are those on a square picture of the whole line, so that a leap, two
// points of one x, stays upright. REQUIRES: x ascending, numbers that are finite, most >= 2.
[[nodiscard]] ThinnedLine thinned(const std::vector<LinePoint>& line, std::size_t most);

}  // namespace goodput
