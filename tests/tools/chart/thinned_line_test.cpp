#include "tools/chart/thinned_line.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace goodput {

TEST_CASE("thinned line: what lies on a straight line goes, corners stay") {
  const std::vector<LinePoint> line = {{0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 2}, {5, 0}};
  const ThinnedLine thin = thinned(line, 100);
  CHECK(thin.points == std::vector<LinePoint>{{0, 0}, {2, 2}, {4, 2}, {5, 0}});
  CHECK(thin.of == 6);
  CHECK(thin.within == 0);
}

TEST_CASE("thinned line: a leap stays upright, two points of one x") {
  const std::vector<LinePoint> line = {{0, 0}, {5, 50}, {10, 100}, {10, 40}, {15, 90}, {20, 140}};
  CHECK(thinned(line, 4).points == std::vector<LinePoint>{{0, 0}, {10, 100}, {10, 40}, {20, 140}});
}

TEST_CASE("thinned line: with too few points the smallest turns go first, and it says how far it is off") {
  // Two peaks over 0: of 10 at x 2, and of 1 at x 6. Of five points the high peak and its feet take three.
  const std::vector<LinePoint> line = {{0, 0}, {1, 0}, {2, 10}, {3, 0}, {5, 0}, {6, 1}, {7, 0}, {8, 0}};
  const ThinnedLine thin = thinned(line, 5);
  CHECK(thin.points == std::vector<LinePoint>{{0, 0}, {1, 0}, {2, 10}, {3, 0}, {8, 0}});
  CHECK(thin.within == doctest::Approx(1));
}

TEST_CASE("thinned line: never more points than asked for, and off by little where the line is smooth") {
  std::vector<LinePoint> line;
  for (int i = 0; i <= 100000; ++i) line.push_back({i * 1e-5, std::sin(i * 1e-4)});
  const ThinnedLine thin = thinned(line, 500);
  CHECK(thin.points.size() <= 500);
  CHECK(thin.within < 1e-3);
  CHECK(thin.points.front() == line.front());
  CHECK(thin.points.back() == line.back());
}

TEST_CASE("thinned line: of a point, of two, of points that are all the same") {
  CHECK(thinned({{1, 2}}, 2).points.size() == 1);
  CHECK(thinned({{1, 2}, {3, 4}}, 2).points.size() == 2);
  CHECK(thinned({{1, 2}, {1, 2}, {1, 2}}, 2).points.size() == 2);
}

}  // namespace goodput
