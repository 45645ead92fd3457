// Horizontal bars, one a thing, as an SVG.
#pragma once

#include <string>
#include <vector>

namespace goodput {

struct ChartBar {
  std::string name;
  double length = 0;
  std::string value;  // written behind the bar
  std::string tip{};  // shown when it is pointed at
};

struct BarChart {
  std::string title;
  std::string note;  // below the title; empty: none
  std::vector<ChartBar> bars;
};

// Bars from 0 on, the longest as long as there is room; negative ones have none. Names that are too long are
// cut.
[[nodiscard]] std::string bar_chart_svg(const BarChart& chart);

}  // namespace goodput
