#include "tools/chart/line_chart.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "tools/chart/bar_chart.h"

namespace goodput {
namespace {

bool has(const std::string& svg, const std::string& part) {
  return svg.find(part) != std::string::npos;
}

TEST_CASE("round values are multiples of 1, 2 or 5 times a power of ten") {
  CHECK(round_values(0, 1, 5) == std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1});
  CHECK(round_values(3, 47, 5) == std::vector<double>{10, 20, 30, 40});
  CHECK(round_values(-1, 1, 4) == std::vector<double>{-1, -0.5, 0, 0.5, 1});
}

TEST_CASE("between values that are an ulp apart there are no round ones") {
  const double next = std::nextafter(1.5, 2.0);
  CHECK(round_values(1.5, next, 7).size() <= 9);
  CHECK(round_values(1.5, 1.5, 7).size() <= 9);
  CHECK(round_values(1e300, std::nextafter(1e300, 2e300), 7).size() <= 9);
  CHECK(round_values(0, std::numeric_limits<double>::denorm_min(), 7).empty());
  const double most = std::numeric_limits<double>::max();
  for (const double value : round_values(-most, most, 7)) CHECK(std::isfinite(value));
}

LineChart dots_at(double first, double second) {
  LineChart chart;
  chart.y = {"y", 0, 1, false, false};
  chart.series = {{"", {{first, 0.5}, {second, 0.5}}, ChartSeries::Shape::kDots, {}}};
  return chart;
}

TEST_CASE("values that are as good as one are drawn as one: the axis goes on to twice of it") {
  for (const double other : {1.5, std::nextafter(1.5, 2.0), 1.5 * (1 + 9e-10)}) {
    const std::string svg = line_chart_svg(dots_at(1.5, other));
    // x from 1.5 to 3 in 660 pixels from 72: both at the left end.
    CHECK(svg.find(R"(<circle cx="72.0")") != svg.rfind(R"(<circle cx="72.0")"));
    CHECK(has(svg, ">1.5</text>"));
    CHECK(has(svg, ">3</text>"));
  }
}

TEST_CASE("an axis of the largest and the least numbers has an end") {
  const double most = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  for (const auto& [first, second] : {std::pair(most, most), std::pair(-most, most), std::pair(0.0, least),
                                      std::pair(least, 2 * least), std::pair(1e300, 1e300)}) {
    const std::string svg = line_chart_svg(dots_at(first, second));
    CHECK_FALSE(has(svg, "inf"));
    CHECK_FALSE(has(svg, "nan"));
  }
  LineChart logarithmic = dots_at(8, std::nextafter(8.0, 9.0));
  logarithmic.x.is_logarithmic = true;
  CHECK(has(line_chart_svg(logarithmic), ">16<"));
}

TEST_CASE("a line goes from point to point, steps hold their value until the next one") {
  LineChart chart;
  chart.title = "t";
  chart.x = {"x", 0, 2, false, false};
  chart.y = {"y", 0, 1, false, false};
  chart.series = {{"", {{0, 0}, {1, 1}, {2, 1}}, ChartSeries::Shape::kLine, {}}};
  // x from 72 to 732, y from 394 up to 74.
  CHECK(has(line_chart_svg(chart), R"(d="M72.0 394.0L402.0 74.0L732.0 74.0")"));
  chart.series[0].shape = ChartSeries::Shape::kSteps;
  CHECK(has(line_chart_svg(chart), R"(d="M72.0 394.0L402.0 394.0L402.0 74.0L732.0 74.0")"));
  chart.series[0].shape = ChartSeries::Shape::kDots;
  chart.series[0].tips = {"first"};
  CHECK(has(line_chart_svg(chart), R"(<circle cx="72.0" cy="394.0" r="3"><title>first</title></circle>)"));
}

TEST_CASE("points outside the axes are left out, names cannot become markup") {
  LineChart chart;
  chart.title = "<b>&\x01";
  chart.x = {"x", 0, 1, true, false};
  chart.y = {"y", 0, 1, false, false};
  chart.series = {{"<i>", {{0.5, 0.5}, {0.7, 2}}, ChartSeries::Shape::kDots, {}}};
  chart.marks = {{0.25, "a<b", true}, {7, "never", true}};
  const std::string svg = line_chart_svg(chart);
  CHECK(has(svg, "<title>&lt;b&gt;&amp;</title>"));
  CHECK(has(svg, "a&lt;b"));
  CHECK_FALSE(has(svg, "never"));
  CHECK_FALSE(has(svg, "<i>"));
  CHECK(has(svg, ">40 %</text>"));
  CHECK(svg.find("<circle") == svg.rfind("<circle"));
}

TEST_CASE("a logarithmic axis has a mark at every power of two") {
  LineChart chart;
  chart.x = {"GPUs", {}, {}, false, true};
  chart.y = {"S", {}, {}, false, false};
  chart.series = {{"", {{100, 1}, {700, 2}}, ChartSeries::Shape::kDots, {}}};
  const std::string svg = line_chart_svg(chart);
  for (const char* label : {">64<", ">128<", ">256<", ">512<", ">1024<"}) CHECK(has(svg, label));
}

TEST_CASE("a chart without points has axes") {
  LineChart chart;
  chart.title = "nothing";
  CHECK(has(line_chart_svg(chart), "nothing"));
}

TEST_CASE("several series have a legend, one has none") {
  LineChart chart;
  chart.series = {{"first", {{0, 0}, {1, 1}}, ChartSeries::Shape::kLine, {}}};
  CHECK_FALSE(has(line_chart_svg(chart), ">first</text>"));
  chart.series.push_back({"second", {{0, 1}, {1, 0}}, ChartSeries::Shape::kLine, {}});
  CHECK(has(line_chart_svg(chart), ">first</text>"));
  CHECK(has(line_chart_svg(chart), ">second</text>"));
}

TEST_CASE("bars are as long as their share of the longest, and have names that fit") {
  const BarChart chart{
      "t", "", {{"a", 2, "two", {}}, {std::string(40, 'x'), 1, "one", "<tip>"}, {"c", -1, "none", {}}}};
  const std::string svg = bar_chart_svg(chart);
  // 760 less 210 for names and 150 for values.
  CHECK(has(svg, R"(width="400.0")"));
  CHECK(has(svg, R"(width="200.0")"));
  CHECK(has(svg, R"(width="0.0")"));
  CHECK(has(svg, ">" + std::string(24, 'x') + "...</text>"));
  CHECK(has(svg, "<title>&lt;tip&gt;</title>"));
  CHECK(has(svg, "<title>a: two</title>"));
}

}  // namespace
}  // namespace goodput
