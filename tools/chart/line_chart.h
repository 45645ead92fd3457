// Lines, steps and dots over one pair of axes, as an SVG.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tools/chart/thinned_line.h"

namespace goodput {

struct ChartSeries {
  enum class Shape : std::uint8_t {
    kLine,
    kSteps,  // a value holds until the next one
    kDots,
  };
  std::string name;  // in the legend; empty: not in it
  std::vector<LinePoint> points;
  Shape shape = Shape::kLine;
  std::vector<std::string> tips{};  // by point, shown when it is pointed at; empty: none
};

// A straight line across the chart, to compare with.
struct ChartMark {
  double at = 0;
  std::string label;
  bool is_vertical = true;
};

// From `least` to `most`; where one is absent it follows from the points and marks.
struct ChartAxis {
  std::string label;
  std::optional<double> least{};
  std::optional<double> most{};
  bool is_percent = false;      // values are shares: labels are 100 times as much
  bool is_logarithmic = false;  // REQUIRES: values above 0
};

struct LineChart {
  std::string title;
  std::string note;  // below the title: what is shown; empty: none
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartSeries> series;
  std::vector<ChartMark> marks{};
};

// Round values from `least` to `most`, at most `marks` of them and two; none where the two are so near that
// no step between them can be told. REQUIRES: least <= most, finite.
[[nodiscard]] std::vector<double> round_values(double least, double most, int marks);

// Points outside the axes are left out, and so is what is beyond 1e300. REQUIRES: points that are finite, x
// ascending in lines and steps.
[[nodiscard]] std::string line_chart_svg(const LineChart& chart);

}  // namespace goodput
