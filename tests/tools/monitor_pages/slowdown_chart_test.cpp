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
  chart.points = {{100, 1.0, "step 1", "/jobs/a/steps/0/1", false}, {160, 1.1, "step 2", "", false}};
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
  chart.points = {{0, 1.0, "", "", false},
                  {10, std::numeric_limits<double>::quiet_NaN(), "", "", false},
                  {20, 1.0, "", "", false},
                  {30, 1.0, "", "", true}};
  chart.spans = {{10, 20, "slow: \"x\"", "/alerts/1"}};
  chart.marks = {{20, "step 3: incomplete", ""}};
  const std::string svg = slowdown_chart_svg(chart);
  CHECK(svg_has(svg, R"(d="M46.0 218.0M606.0 218.0M886.0 218.0")"));
  CHECK(svg_has(
      svg, R"(<rect class="alert-span" x="326.0" y="14" width="280.0" height="204" data-href="/alerts/1">)"
           "<title>slow: &quot;x&quot;</title>"));
  CHECK(svg_has(svg, R"(<path class="not-whole" d="M606.0 218.0l4 -8h-8z">)"));
}

TEST_CASE("slowdown chart: nothing known is no chart") {
  CHECK(slowdown_chart_svg({}) == "");
  SlowdownChart chart;
  chart.points = {{0, std::numeric_limits<double>::quiet_NaN(), "", "", false}};
  CHECK(slowdown_chart_svg(chart) == "");
}

}  // namespace
}  // namespace goodput
