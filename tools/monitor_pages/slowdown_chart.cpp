#include "tools/monitor_pages/slowdown_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "sim/base/append.h"
#include "tools/chart/axis_ticks.h"
#include "tools/chart/heatmap_scale.h"
#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/page_values.h"

namespace goodput {
namespace {

constexpr double kWidth = 900;
constexpr double kHeight = 260;
constexpr double kLeft = 46;
constexpr double kRight = 14;
constexpr double kTop = 14;
constexpr double kBottom = 42;

class ChartDrawing {
 public:
  explicit ChartDrawing(const SlowdownChart& chart)
      : chart_(chart), end_s_(chart.points.back().at_s), scale_(largest_slowdown(chart)) {
    const double seconds = end_s_ - chart.points.front().at_s;
    time_ = time_axis(seconds > 0 ? seconds : 1);
  }

  std::string draw() {
    svg_ = fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" aria-label="{2}">)",
        kWidth, kHeight, html_text(chart_.title));
    svg_ += '\n';
    draw_spans();
    draw_slowdown_axis();
    draw_time_axis();
    draw_line();
    draw_marks();
    draw_hits();
    return svg_ + "</svg>\n";
  }

 private:
  static double largest_slowdown(const SlowdownChart& chart) {
    double largest = 1;
    for (const SlowdownChart::Point& point : chart.points) {
      if (std::isfinite(point.slowdown)) largest = std::max(largest, point.slowdown);
    }
    return largest;
  }

  [[nodiscard]] double x_of(double at_s) const {
    const double share = 1 - std::clamp((end_s_ - at_s) / time_.most, 0.0, 1.0);
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y_of(double slowdown) const {
    const double share = std::clamp((slowdown - 1) / (scale_.top() - 1), 0.0, 1.0);
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  }

  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    append(svg_, format, std::forward<Arguments>(arguments)...);
    svg_ += '\n';
  }

  // Where a click on it goes is an attribute for the script; the same links are in a table below.
  void add_hit(std::string_view kind, double from, double to, std::string_view link, std::string_view tip) {
    add(R"(<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"{}><title>{}</title></rect>)", kind,
        from, kTop, std::max(to - from, 1.0), kHeight - kTop - kBottom,
        link.empty() ? "" : fmt::format(" data-href=\"{}\"", link), html_text(tip));
  }

  void draw_spans() {
    for (const SlowdownChart::Span& span : chart_.spans)
      add_hit("alert-span", x_of(span.from_s), std::max(x_of(span.to_s), x_of(span.from_s) + 2), span.link,
              span.tip);
  }

  void draw_slowdown_axis() {
    svg_ += "<g class=\"grid\">\n";
    for (const double tick : scale_.ticks()) {
      add(R"(<line x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", kLeft, kWidth - kRight, y_of(tick),
          y_of(tick));
      add(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 6, y_of(tick) + 4,
          scale_.tick_label(tick));
    }
    svg_ += "</g>\n";
  }

  void draw_time_axis() {
    const double y = kHeight - kBottom;
    svg_ += "<g class=\"axis\">\n";
    add(R"(<line x1="{}" x2="{}" y1="{}" y2="{}"/>)", kLeft, kWidth - kRight, y, y);
    for (const AxisTick& tick : time_.ticks) {
      const double x = x_of(end_s_ - tick.value);
      add(R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)", x, y, y + 4);
      add(R"(<text x="{:.1f}" y="{}" text-anchor="{}">{}{}</text>)", x, y + 18,
          tick.value == 0 ? "end" : "middle", tick.value == 0 ? "" : "−", tick.label);
    }
    add(R"(<text x="{}" y="{}" text-anchor="end">{} before {}</text>)", kWidth - kRight, kHeight - 6,
        time_.unit, end_s_ > 1e9 ? iso_time(end_s_) : "the last step");
    svg_ += "</g>\n";
  }

  void draw_line() {
    std::string path;
    bool is_drawing = false;
    for (const SlowdownChart::Point& point : chart_.points) {
      if (!std::isfinite(point.slowdown)) {
        is_drawing = false;
        continue;
      }
      if (point.begins_run && is_drawing) {
        add(R"(<line class="limit" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)", x_of(point.at_s), kTop,
            kHeight - kBottom);
        is_drawing = false;
      }
      append(path, "{}{:.1f} {:.1f}", is_drawing ? "L" : "M", x_of(point.at_s), y_of(point.slowdown));
      is_drawing = true;
    }
    add(R"(<path class="line" d="{}"/>)", path);
    // A line of one point is not seen.
    const SlowdownChart::Point& last = chart_.points.back();
    if (std::isfinite(last.slowdown))
      add(R"(<circle class="last" r="3.5" cx="{:.1f}" cy="{:.1f}"/>)", x_of(last.at_s), y_of(last.slowdown));
  }

  void draw_marks() {
    const double y = kHeight - kBottom;
    for (const SlowdownChart::Mark& mark : chart_.marks) {
      const double x = x_of(mark.at_s);
      add(R"(<path class="not-whole" d="M{:.1f} {:.1f}l4 -8h-8z"{}><title>{}</title></path>)", x, y,
          mark.link.empty() ? "" : fmt::format(" data-href=\"{}\"", mark.link), html_text(mark.tip));
    }
  }

  // Between the middles to its neighbours a point is what the pointer means.
  void draw_hits() {
    const auto& points = chart_.points;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double x = x_of(points[i].at_s);
      const double from = i == 0 ? x - 4 : (x_of(points[i - 1].at_s) + x) / 2;
      const double to = i + 1 == points.size() ? x + 4 : (x_of(points[i + 1].at_s) + x) / 2;
      add_hit("hit", from, to, points[i].link, points[i].tip);
    }
  }

  const SlowdownChart& chart_;
  double end_s_;
  HeatScale scale_;
  Axis time_;
  std::string svg_;
};

}  // namespace

std::string slowdown_chart_svg(const SlowdownChart& chart) {
  const bool has_point =
      std::ranges::any_of(chart.points, [](const auto& point) { return std::isfinite(point.slowdown); });
  return has_point ? ChartDrawing(chart).draw() : std::string{};
}

}  // namespace goodput
