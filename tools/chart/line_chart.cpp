#include "tools/chart/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "sim/base/append.h"
#include "tools/chart/svg_text.h"
#include "tools/page/palette.h"

namespace goodput {
namespace {

constexpr double kChartWidth = 760;
constexpr double kPlotLeft = 72;
constexpr double kPlotRight = 28;
constexpr double kPlotHeight = 320;
constexpr double kBelowPlot = 58;
constexpr double kLetterWidth = 7.2;
constexpr double kSameSpot = 0.4;  // pixels
constexpr int kMostTicks = 7;
constexpr double kSameValue = 1e-9;      // of the value: what is nearer together has one mark
constexpr double kLargestDrawn = 1e300;  // twice that, and a mark more, is still a number
constexpr double kLeastDrawn = 1e-300;   // so is a part of this

// Where values of an axis are, in pixels.
class AxisScale {
 public:
  AxisScale(const ChartAxis& axis, double least, double most, double from, double to)
      : axis_(axis), least_(place(least)), most_(place(most)), from_(from), to_(to) {}

  [[nodiscard]] double at(double value) const {
    return from_ + (to_ - from_) * (place(value) - least_) / (most_ - least_);
  }
  [[nodiscard]] bool has(double value) const {
    if (axis_.is_logarithmic && value <= 0) return false;
    const double slack = 1e-9 * (most_ - least_);
    return place(value) >= least_ - slack && place(value) <= most_ + slack;
  }
  [[nodiscard]] std::vector<double> ticks() const {
    if (!axis_.is_logarithmic) return round_values(least_, most_, kMostTicks);
    std::vector<double> powers;
    for (double power = std::ceil(least_ - 1e-9); power <= most_ + 1e-9; ++power)
      powers.push_back(std::exp2(power));
    return powers;
  }
  [[nodiscard]] std::string label(double value) const {
    return axis_.is_percent ? fmt::format("{:.6g} %", 100 * value) : fmt::format("{:.6g}", value);
  }

 private:
  [[nodiscard]] double place(double value) const { return axis_.is_logarithmic ? std::log2(value) : value; }

  const ChartAxis& axis_;
  double least_;
  double most_;
  double from_;
  double to_;
};

struct AxisExtent {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void add(double value) {
    value = std::clamp(value, -kLargestDrawn, kLargestDrawn);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // Or so little that no marks fit between.
  [[nodiscard]] bool is_one_value() const {
    const double largest = std::max(std::abs(least), std::abs(most));
    return !(most - least > std::max(kLeastDrawn, kSameValue * largest));
  }
};

// What an axis covers: as told, else the values, to the next round ones.
AxisExtent covered(const ChartAxis& axis, AxisExtent values) {
  if (!(values.least <= values.most)) values = {0, 1};
  if (axis.least) values.least = *axis.least;
  if (axis.most) values.most = *axis.most;
  if (values.is_one_value()) {
    const double size = std::abs(values.least);
    values.most = values.least + (size < kLeastDrawn ? 1 : size);
  }
  if (axis.is_logarithmic) {
    if (!axis.least) values.least = std::exp2(std::floor(std::log2(values.least)));
    if (!axis.most) values.most = std::exp2(std::ceil(std::log2(values.most)));
    return values;
  }
  const std::vector<double> ticks = round_values(values.least, values.most, kMostTicks);
  if (ticks.empty()) return values;
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : values.most - values.least;
  if (!axis.least && ticks.front() > values.least) values.least = ticks.front() - step;
  if (!axis.most && ticks.back() < values.most) values.most = ticks.back() + step;
  return values;
}

class LineChartFigure {
 public:
  explicit LineChartFigure(const LineChart& chart)
      : chart_(chart),
        top_(top_of_plot(chart)),
        x_(chart.x, extents(chart).first.least, extents(chart).first.most, kPlotLeft,
           kChartWidth - kPlotRight),
        y_(chart.y, extents(chart).second.least, extents(chart).second.most, top_ + kPlotHeight, top_) {}

  std::string draw() {
    draw_legend();
    draw_axes();
    for (const ChartMark& mark : chart_.marks) draw_mark(mark);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw_series(i);
    const double height = top_ + kPlotHeight + kBelowPlot;
    return fmt::format(
               R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img">)"
               "\n<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#{3:06x}\"/>\n"
               "<g font-family=\"{4}\" font-size=\"13\" fill=\"#{5:06x}\">\n"
               "<text x=\"{6}\" y=\"32\" font-size=\"17\" font-weight=\"bold\">{2}</text>\n",
               kChartWidth, height, svg_text(chart_.title), palette::kSurface, palette::kFontFamily,
               palette::kInk, kPlotLeft) +
           svg_ + "</g>\n</svg>\n";
  }

 private:
  static double top_of_plot(const LineChart& chart) {
    const auto named = [](const ChartSeries& series) { return !series.name.empty(); };
    const auto in_legend = std::count_if(chart.series.begin(), chart.series.end(), named);
    return 52 + (chart.note.empty() ? 0 : 20) + (in_legend > 1 ? 24 : 0) + 22;
  }

  static std::pair<AxisExtent, AxisExtent> extents(const LineChart& chart) {
    AxisExtent x;
    AxisExtent y;
    for (const ChartSeries& series : chart.series) {
      for (const LinePoint& point : series.points) {
        x.add(point.x);
        y.add(point.y);
      }
    }
    for (const ChartMark& mark : chart.marks) (mark.is_vertical ? x : y).add(mark.at);
    return {covered(chart.x, x), covered(chart.y, y)};
  }

  template <typename... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    append(svg_, format, std::forward<Arguments>(arguments)...);
    svg_ += '\n';
  }

  [[nodiscard]] static std::uint32_t colour(std::size_t series) {
    return palette::kCategories[series % palette::kCategories.size()];
  }

  void draw_legend() {
    double y = 52;
    if (!chart_.note.empty()) {
      put(R"(<text x="{}" y="{}" fill="#{:06x}">{}</text>)", kPlotLeft, y, palette::kInkSoft,
          svg_text(chart_.note));
      y += 24;
    }
    double x = kPlotLeft;
    if (top_of_plot(chart_) < y + 22 + 20) return;  // one line needs no legend
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const std::string& name = chart_.series[i].name;
      if (name.empty()) continue;
      put(R"(<path d="M{:.1f} {:.1f}h24" stroke="#{:06x}" stroke-width="3" fill="none"/>)", x, y - 4.5,
          colour(i));
      put(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + 30, y, svg_text(name));
      x += 30 + kLetterWidth * static_cast<double>(name.size()) + 20;
    }
  }

  void draw_axes() {
    const double bottom = top_ + kPlotHeight;
    for (const double value : x_.ticks()) {
      put(R"(<path d="M{:.1f} {:.1f}V{:.1f}" stroke="#{:06x}"/>)", x_.at(value), top_, bottom,
          palette::kRule);
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x_.at(value), bottom + 20,
          x_.label(value));
    }
    for (const double value : y_.ticks()) {
      put(R"(<path d="M{:.1f} {:.1f}H{:.1f}" stroke="#{:06x}"/>)", kPlotLeft, y_.at(value),
          kChartWidth - kPlotRight, palette::kRule);
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", kPlotLeft - 8, y_.at(value) + 4.5,
          y_.label(value));
    }
    put(R"(<path d="M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}" stroke="#{4:06x}" fill="none"/>)", kPlotLeft, top_,
        bottom, kChartWidth - kPlotRight, palette::kEdge);
    put(R"(<text x="{:.1f}" y="{:.1f}" fill="#{:06x}">{}</text>)", kPlotLeft, top_ - 9, palette::kInkSoft,
        svg_text(chart_.y.label));
    put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" fill="#{:06x}">{}</text>)",
        (kPlotLeft + kChartWidth - kPlotRight) / 2, bottom + 44, palette::kInkSoft, svg_text(chart_.x.label));
  }

  void draw_mark(const ChartMark& mark) {
    const AxisScale& scale = mark.is_vertical ? x_ : y_;
    if (!scale.has(mark.at)) return;
    const double at = scale.at(mark.at);
    if (mark.is_vertical) {
      put(R"(<path d="M{0:.1f} {1:.1f}V{2:.1f}" stroke="#{3:06x}" stroke-dasharray="5 4"/>)", at, top_,
          top_ + kPlotHeight, palette::kWarning);
      const bool is_right = at > kChartWidth * 0.7;
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="#{:06x}">{}</text>)",
          is_right ? at - 5 : at + 5, top_ + kPlotHeight - 8, is_right ? "end" : "start", palette::kWarning,
          svg_text(mark.label));
    } else {
      put(R"(<path d="M{0:.1f} {1:.1f}H{2:.1f}" stroke="#{3:06x}" stroke-dasharray="5 4"/>)", kPlotLeft, at,
          kChartWidth - kPlotRight, palette::kWarning);
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end" fill="#{:06x}">{}</text>)",
          kChartWidth - kPlotRight - 4, at - 5, palette::kWarning, svg_text(mark.label));
    }
  }

  void draw_series(std::size_t number) {
    const ChartSeries& series = chart_.series[number];
    if (series.shape == ChartSeries::Shape::kDots) {
      draw_dots(series, colour(number));
      return;
    }
    std::string path;
    double last_x = 0;
    double last_y = 0;
    const auto to = [&](double x, double y) {
      if (!path.empty() && std::abs(x - last_x) < kSameSpot && std::abs(y - last_y) < kSameSpot) return;
      append(path, "{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
      last_x = x;
      last_y = y;
    };
    double height = 0;
    for (const LinePoint& point : series.points) {
      if (!x_.has(point.x) || !y_.has(point.y)) continue;
      const double x = x_.at(point.x);
      if (series.shape == ChartSeries::Shape::kSteps && !path.empty()) to(x, height);
      height = y_.at(point.y);
      to(x, height);
    }
    if (path.empty()) return;
    put(R"(<path d="{}" stroke="#{:06x}" stroke-width="2" stroke-linejoin="round" fill="none"><title>{}</title></path>)",
        path, colour(number), svg_text(series.name));
  }

  void draw_dots(const ChartSeries& series, std::uint32_t colour_of_dots) {
    put(R"(<g fill="#{:06x}" fill-opacity="0.45">)", colour_of_dots);
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const LinePoint& point = series.points[i];
      if (!x_.has(point.x) || !y_.has(point.y)) continue;
      const std::string tip = i < series.tips.size()
                                  ? fmt::format("><title>{}</title></circle>", svg_text(series.tips[i]))
                                  : "/>";
      put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3"{})", x_.at(point.x), y_.at(point.y), tip);
    }
    svg_ += "</g>\n";
  }

  const LineChart& chart_;
  double top_;
  AxisScale x_;
  AxisScale y_;
  std::string svg_;
};

}  // namespace

std::vector<double> round_values(double least, double most, int marks) {
  const double wanted = most / marks - least / marks;  // the difference may be no number
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= wanted * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> values;
  const double first = std::ceil(least / step - 1e-9);
  const double last = std::floor(most / step + 1e-9);
  // Where steps are lost in the values' last digits there are no marks.
  if (!(last - first <= marks + 1.0) || first + 1 == first) return values;
  const int count = static_cast<int>(last - first) + 1;
  for (int i = 0; i < count; ++i) values.push_back((first + i) * step + 0.0);
  return values;
}

std::string line_chart_svg(const LineChart& chart) {
  return LineChartFigure(chart).draw();
}

}  // namespace goodput
