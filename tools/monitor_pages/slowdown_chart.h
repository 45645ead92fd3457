// Slowdowns over time as a line in SVG, made by the server: for browsers without scripts too.
#pragma once

#include <string>
#include <vector>

namespace goodput {

struct SlowdownChart {
  struct Point {
    double at_s = 0;  // Unix time
    double slowdown = 1;
    std::string tip;   // shown when pointed at; text of anybody
    std::string link;  // where a click goes, percent-encoded; empty: nowhere
    bool begins_run = false;
  };
  // A time in which an alert was open.
  struct Span {
    double from_s = 0;
    double to_s = 0;
    std::string tip;
    std::string link;
  };
  // Something that happened at a time and has no slowdown: a step that is not whole.
  struct Mark {
    double at_s = 0;
    std::string tip;
    std::string link;
  };

  std::string title;
  std::vector<Point> points;  // ascending in time
  std::vector<Span> spans;
  std::vector<Mark> marks;
};

// A whole <svg>, which scales with its box. The time axis counts back from the last point. What is no number
// is left out; no points: an empty text.
[[nodiscard]] std::string slowdown_chart_svg(const SlowdownChart& chart);

}  // namespace goodput
