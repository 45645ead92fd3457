#include "tools/monitor_pages/slowdown_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

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

constexpr int kStepMarks = 7;
constexpr double kLabelRoom = 60;  // from one step number to the next

// How far to the right points, and times between them, are: in seconds or in steps from the first point.
class ChartPlaces {
 public:
  explicit ChartPlaces(const SlowdownChart& chart) : chart_(chart), places_(chart.points.size()) {
    for (std::size_t i = 1; i < places_.size(); ++i)
      places_[i] = places_[i - 1] + gap(chart.points[i - 1], chart.points[i]);
  }

  [[nodiscard]] double of_point(std::size_t i) const { return places_[i]; }
  [[nodiscard]] double length() const { return places_.back(); }

  // In proportion between the two points around it. On a step axis these have the times at which the steps
  // arrived.
  [[nodiscard]] double of_time(double at_s) const {
    const auto& points = chart_.points;
    const auto right = std::ranges::lower_bound(points, at_s, {}, &SlowdownChart::Point::at_s);
    const auto i = static_cast<std::size_t>(right - points.begin());
    if (i == 0) return 0;
    if (i == points.size()) return length();
    const double share = (at_s - points[i - 1].at_s) / (points[i].at_s - points[i - 1].at_s);
    return places_[i - 1] + share * (places_[i] - places_[i - 1]);
  }

 private:
  [[nodiscard]] double gap(const SlowdownChart::Point& left, const SlowdownChart::Point& right) const {
    if (chart_.x_axis == SlowdownChart::XAxis::kTime) return right.at_s - left.at_s;
    // A new run may begin at a step that was there before.
    return std::max(1.0, static_cast<double>(right.step - left.step));
  }

  const SlowdownChart& chart_;
  std::vector<double> places_;
};

class ChartDrawing {
 public:
  explicit ChartDrawing(const SlowdownChart& chart)
      : chart_(chart),
        places_(chart),
        length_(places_.length() > 0 ? places_.length() : 1),
        scale_(largest_slowdown(chart)) {}

  std::string draw() {
    svg_ = fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" aria-label="{2}">)",
        kWidth, kHeight, html_text(chart_.title));
    svg_ += '\n';
    draw_spans();
    draw_slowdown_axis();
    draw_x_axis();
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

  // The last point is at the right end.
  [[nodiscard]] double x_at(double place) const {
    const double share = 1 - (places_.length() - place) / length_;
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double x_of_point(std::size_t i) const { return x_at(places_.of_point(i)); }
  [[nodiscard]] double x_of_time(double at_s) const { return x_at(places_.of_time(at_s)); }
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
      add_hit("alert-span", x_of_time(span.from_s),
              std::max(x_of_time(span.to_s), x_of_time(span.from_s) + 2), span.link, span.tip);
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

  void draw_x_axis() {
    const double y = kHeight - kBottom;
    svg_ += "<g class=\"axis\">\n";
    add(R"(<line x1="{}" x2="{}" y1="{}" y2="{}"/>)", kLeft, kWidth - kRight, y, y);
    if (chart_.x_axis == SlowdownChart::XAxis::kTime)
      draw_times();
    else
      draw_step_numbers();
    svg_ += "</g>\n";
  }

  void add_tick(double x, std::string_view anchor, std::string_view label) {
    const double y = kHeight - kBottom;
    add(R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)", x, y, y + 4);
    add(R"(<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>)", x, y + 18, anchor, label);
  }
  void add_axis_label(std::string_view label) {
    add(R"(<text x="{}" y="{}" text-anchor="end">{}</text>)", kWidth - kRight, kHeight - 6, label);
  }

  void draw_times() {
    const Axis time = time_axis(length_);
    for (const AxisTick& tick : time.ticks) {
      const bool is_last = tick.value == 0;
      add_tick(x_at(places_.length() - tick.value), is_last ? "end" : "middle",
               (is_last ? "" : "−") + tick.label);
    }
    const double end_s = chart_.points.back().at_s;
    add_axis_label(fmt::format("{} before {}", time.unit, end_s > 1e9 ? iso_time(end_s) : "the last step"));
  }

  // Round numbers that a line passes, and the first one of every run, as far as there is room.
  void draw_step_numbers() {
    const auto every = static_cast<std::int64_t>(count_axis(length_, kStepMarks).ticks[1].value);
    const auto& points = chart_.points;
    double last_x = -kLabelRoom;
    const auto add_number = [&](double x, std::int64_t step) {
      if (x - last_x < kLabelRoom) return;
      add_tick(x, x > kWidth - kRight - kLabelRoom / 2 ? "end" : "middle", fmt::format("{}", step));
      last_x = x;
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool goes_on = i > 0 && points[i].step > points[i - 1].step;
      if (!goes_on) {
        add_number(x_of_point(i), points[i].step);
        continue;
      }
      for (std::int64_t nth = points[i - 1].step / every; nth < points[i].step / every; ++nth) {
        const std::int64_t step = (nth + 1) * every;
        add_number(x_at(places_.of_point(i) - static_cast<double>(points[i].step - step)), step);
      }
    }
    add_axis_label("step (start times are not known)");
  }

  void draw_line() {
    std::string path;
    bool is_drawing = false;
    for (std::size_t i = 0; i < chart_.points.size(); ++i) {
      const SlowdownChart::Point& point = chart_.points[i];
      if (!std::isfinite(point.slowdown)) {
        is_drawing = false;
        continue;
      }
      if (point.begins_run && is_drawing) {
        add(R"(<line class="limit" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)", x_of_point(i), kTop,
            kHeight - kBottom);
        is_drawing = false;
      }
      append(path, "{}{:.1f} {:.1f}", is_drawing ? "L" : "M", x_of_point(i), y_of(point.slowdown));
      is_drawing = true;
    }
    add(R"(<path class="line" d="{}"/>)", path);
    // A line of one point is not seen.
    const SlowdownChart::Point& last = chart_.points.back();
    if (std::isfinite(last.slowdown))
      add(R"(<circle class="last" r="3.5" cx="{:.1f}" cy="{:.1f}"/>)", x_of_point(chart_.points.size() - 1),
          y_of(last.slowdown));
  }

  void draw_marks() {
    const double y = kHeight - kBottom;
    for (const SlowdownChart::Mark& mark : chart_.marks) {
      add(R"(<path class="not-whole" d="M{:.1f} {:.1f}l4 -8h-8z"{}><title>{}</title></path>)",
          x_of_time(mark.at_s), y, mark.link.empty() ? "" : fmt::format(" data-href=\"{}\"", mark.link),
          html_text(mark.tip));
    }
  }

  // Between the middles to its neighbours a point is what the pointer means.
  void draw_hits() {
    const auto& points = chart_.points;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double x = x_of_point(i);
      const double from = i == 0 ? x - 4 : (x_of_point(i - 1) + x) / 2;
      const double to = i + 1 == points.size() ? x + 4 : (x_of_point(i + 1) + x) / 2;
      add_hit("hit", from, to, points[i].link, points[i].tip);
    }
  }

  const SlowdownChart& chart_;
  ChartPlaces places_;
  double length_;
  HeatScale scale_;
  std::string svg_;
};

}  // namespace

std::string slowdown_chart_svg(const SlowdownChart& chart) {
  const bool has_point =
      std::ranges::any_of(chart.points, [](const auto& point) { return std::isfinite(point.slowdown); });
  return has_point ? ChartDrawing(chart).draw() : std::string{};
}

}  // namespace goodput
