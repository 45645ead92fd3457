// Slowdowns over time, or over step numbers, as a line in SVG. The server draws it, so browsers without
// scripts show it too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace goodput {

struct SlowdownChart {
  enum class XAxis : std::uint8_t {
    kTime,
    kStep,  // for jobs whose ops have relative times: nothing tells when a step began
  };
  struct Point {
    double at_s = 0;        // Unix time, ascending
    std::int64_t step = 0;  // its number, ascending within a run
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
  XAxis x_axis = XAxis::kTime;
  std::vector<Point> points;
  std::vector<Span> spans;
  std::vector<Mark> marks;
};

// A whole <svg>, which scales with its box. A time axis counts back from the last point; a step axis shows
// step numbers, and a run that starts again at a lower number continues to the right. Points whose slowdown
// is not a number leave a gap; without any other point the text is empty.
[[nodiscard]] std::string slowdown_chart_svg(const SlowdownChart& chart);

}  // namespace goodput
