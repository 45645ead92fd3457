#include "tools/monitor_pages/slowdown_chart.h"

#include <doctest/doctest.h>

#include <limits>

namespace goodput {
namespace {

bool svg_has(const std::string& svg, std::string_view what) {
  return svg.find(what) != std::string::npos;
}

TEST_CASE("slowdown chart: a line over time that counts back from the last step") {
  SlowdownChart chart;
  chart.title = "S of <a job>";
  chart.points = {{100, 1, 1.0, "step 1", "/jobs/a/steps/0/1", false}, {160, 2, 1.1, "step 2", "", false}};
  const std::string svg = slowdown_chart_svg(chart);
  // From x 46 to 900 - 14; S from 1 at y 260 - 42 to 1.1, where the axis ends, at y 14.
  CHECK(svg_has(svg, R"(<path class="line" d="M46.0 218.0L886.0 14.0"/>)"));
  CHECK(svg_has(svg, "aria-label=\"S of &lt;a job&gt;\""));
  CHECK(svg_has(svg, "data-href=\"/jobs/a/steps/0/1\""));
  CHECK(svg_has(svg, ">s before the last step</text>"));
  CHECK(svg_has(svg, ">−60</text>"));
}

TEST_CASE("slowdown chart: an alert is a span, a new run breaks the line, what is no number leaves a gap") {
  SlowdownChart chart;
  chart.points = {{0, 1, 1.0, "", "", false},
                  {10, 2, std::numeric_limits<double>::quiet_NaN(), "", "", false},
                  {20, 3, 1.0, "", "", false},
                  {30, 4, 1.0, "", "", true}};
  chart.spans = {{10, 20, "slow: \"x\"", "/alerts/1"}};
  chart.marks = {{20, "step 3: incomplete", ""}};
  const std::string svg = slowdown_chart_svg(chart);
  CHECK(svg_has(svg, R"(d="M46.0 218.0M606.0 218.0M886.0 218.0")"));
  CHECK(svg_has(
      svg, R"(<rect class="alert-span" x="326.0" y="14" width="280.0" height="204" data-href="/alerts/1">)"
           "<title>slow: &quot;x&quot;</title>"));
  CHECK(svg_has(svg, R"(<path class="not-whole" d="M606.0 218.0l4 -8h-8z">)"));
}

TEST_CASE("slowdown chart: a job with relative times has step numbers on its x axis") {
  SlowdownChart chart;
  chart.x_axis = SlowdownChart::XAxis::kStep;
  // Of 840 units: steps 1 and 11 are 10 steps apart, 11 and 21 as well, whenever they arrived.
  chart.points = {{0, 1, 1.0, "", "", false}, {0, 11, 1.0, "", "", false}, {1, 21, 1.0, "", "", false}};
  const std::string svg = slowdown_chart_svg(chart);
  CHECK(svg_has(svg, R"(d="M46.0 218.0L466.0 218.0L886.0 218.0")"));
  // 20 steps at 7 marks or fewer: every fifth, the first one too. The tick of step 5 is 4 / 20 along.
  CHECK(svg_has(svg, R"(<text x="46.0" y="236" text-anchor="middle">1</text>)"));
  CHECK(svg_has(svg, R"(<text x="214.0" y="236" text-anchor="middle">5</text>)"));
  CHECK(svg_has(svg, R"(<text x="844.0" y="236" text-anchor="middle">20</text>)"));
  CHECK(svg_has(svg, ">step (start times are not known)</text>"));
  CHECK_FALSE(svg_has(svg, "before the last step"));
}

TEST_CASE("slowdown chart: on a step axis a run that repeats steps goes on to the right") {
  SlowdownChart chart;
  chart.x_axis = SlowdownChart::XAxis::kStep;
  // From step 8 to step 5 of the next run is one step to the right: 3 + 1 + 4 steps in all, 105 units each.
  chart.points = {{100, 5, 1.0, "", "", false},
                  {110, 8, 1.0, "", "", false},
                  {120, 5, 1.0, "", "", true},
                  {140, 9, 1.0, "", "", false}};
  chart.spans = {{110, 130, "slow", ""}};
  const std::string svg = slowdown_chart_svg(chart);
  CHECK(svg_has(svg, R"(d="M46.0 218.0L361.0 218.0M466.0 218.0L886.0 218.0")"));
  // An alert that closed halfway between the arrival of steps 5 and 9 ends in the middle between them.
  CHECK(svg_has(svg, R"(<rect class="alert-span" x="361.0" y="14" width="315.0")"));
  CHECK(svg_has(svg, R"(<text x="466.0" y="236" text-anchor="middle">5</text>)"));
}

TEST_CASE("slowdown chart: nothing known is no chart") {
  CHECK(slowdown_chart_svg({}) == "");
  SlowdownChart chart;
  chart.points = {{0, 1, std::numeric_limits<double>::quiet_NaN(), "", "", false}};
  CHECK(slowdown_chart_svg(chart) == "");
}

}  // namespace
}  // namespace goodput
