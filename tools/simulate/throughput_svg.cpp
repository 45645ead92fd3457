#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/append.h"
#include "tools/chart/axis_ticks.h"
#include "tools/chart/svg_text.h"
#include "tools/page/palette.h"
#include "tools/simulate/throughput.h"

namespace goodput {
namespace {

constexpr double kFigureWidth = 960;
constexpr double kLeft = 76;
constexpr double kRight = 24;
constexpr double kLetter = 7.2;     // width of one, about
constexpr double kPrecision = 0.4;  // of lines, pixels

// Part of the page with a value axis of its own; time runs from left to right in all of them.
struct Panel {
  double top = 0;
  double height = 0;
  double most_value = 1;
  double most_s = 1;

  [[nodiscard]] double x(double time_s) const {
    return kLeft + (kFigureWidth - kLeft - kRight) * time_s / most_s;
  }
  [[nodiscard]] double y(double value) const { return top + height * (1 - value / most_value); }
  [[nodiscard]] double bottom() const { return top + height; }
};

// A path that leaves out what nobody can see.
class Line {
 public:
  void to(double x, double y) {
    if (!path_.empty() && std::abs(x - x_) < kPrecision && std::abs(y - y_) < kPrecision) {
      skipped_ = true;
      skipped_x_ = x;
      skipped_y_ = y;
      return;
    }
    // Where it leaps, it leaps from where it was.
    if (skipped_ && std::abs(y - y_) > 2) put(skipped_x_, skipped_y_);
    put(x, y);
  }
  [[nodiscard]] std::string path() && {
    if (skipped_) put(skipped_x_, skipped_y_);
    return std::move(path_);
  }

 private:
  void put(double x, double y) {
    append(path_, "{}{:.1f} {:.1f}", path_.empty() ? "M" : "L", x, y);
    x_ = x;
    y_ = y;
    skipped_ = false;
  }

  std::string path_;
  double x_ = 0;
  double y_ = 0;
  double skipped_x_ = 0;
  double skipped_y_ = 0;
  bool skipped_ = false;
};

class ThroughputFigure {
 public:
  ThroughputFigure(std::span<const RecordedRun> runs, std::string_view title) : runs_(runs), title_(title) {
    double most_samples = 0;
    for (const RecordedRun& run : runs) {
      points_.push_back(throughput_of(run));
      for (const ThroughputPoint& point : points_.back()) {
        most_samples = std::max(most_samples, point.samples);
        most_nodes_ = std::max(most_nodes_, point.nodes_held);
      }
      if (longest_ == nullptr || run.end > longest_->end) longest_ = &run;
    }
    time_ = time_axis(longest_ == nullptr ? 0 : to_seconds(longest_->end));
    samples_ = count_axis(most_samples, 7);
    nodes_ = count_axis(most_nodes_, 4);
  }

  std::string draw() {
    const double legend_bottom = draw_legend(64);
    const Panel samples{legend_bottom + 38, 320, samples_.most, time_.most};
    const Panel nodes{samples.bottom() + 44, 96, nodes_.most, time_.most};
    draw_axes(samples, samples_, "samples (lost ones subtracted)");
    for (std::size_t i = 0; i < points_.size(); ++i) draw_samples(samples, i);
    draw_axes(nodes, nodes_, "nodes held");
    draw_nodes(nodes);
    draw_times(nodes);
    const double height = nodes.bottom() + 56;
    return fmt::format(
               R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img">)"
               "\n<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#{5:06x}\"/>\n"
               "<g font-family=\"{6}\" font-size=\"13\" fill=\"#{3:06x}\">\n"
               "<text x=\"{4}\" y=\"32\" font-size=\"17\" font-weight=\"bold\">{2}</text>\n",
               kFigureWidth, height, svg_text(title_), palette::kInk, kLeft, palette::kSurface,
               palette::kFontFamily) +
           svg_ + "</g>\n</svg>\n";
  }

 private:
  [[nodiscard]] static std::uint32_t colour(std::size_t policy) {
    return palette::kCategories[policy % palette::kCategories.size()];
  }

  // Of many policies some are dashed, so that lines on top of each other are both seen.
  [[nodiscard]] static std::string_view dashes(std::size_t policy) {
    return policy > 4 && policy % 2 == 1 ? R"( stroke-dasharray="9 4")" : "";
  }

  template <typename... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    append(svg_, format, std::forward<Arguments>(arguments)...);
    svg_ += '\n';
  }

  // Returns where it ends.
  double draw_legend(double y) {
    double x = kLeft;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const std::string name = svg_text(runs_[i].policy);
      const double width = 34 + kLetter * static_cast<double>(runs_[i].policy.size()) + 20;
      if (x > kLeft && x + width > kFigureWidth - kRight) {
        x = kLeft;
        y += 22;
      }
      put(R"(<path d="M{:.1f} {:.1f}h28" stroke="#{:06x}" stroke-width="3"{} fill="none"/>)", x, y - 4.5,
          colour(i), dashes(i));
      put(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + 34, y, name);
      x += width;
    }
    return y;
  }

  void draw_axes(const Panel& panel, const Axis& values, std::string_view what) {
    for (const AxisTick& tick : time_.ticks) {
      put(R"(<path d="M{:.1f} {:.1f}V{:.1f}" stroke="#{:06x}"/>)", panel.x(tick.value), panel.top,
          panel.bottom(), palette::kRule);
    }
    for (const AxisTick& tick : values.ticks) {
      put(R"(<path d="M{:.1f} {:.1f}H{:.1f}" stroke="#{:06x}"/>)", kLeft, panel.y(tick.value),
          kFigureWidth - kRight, tick.value == 0 ? palette::kEdge : palette::kRule);
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 8, panel.y(tick.value) + 4.5,
          tick.label);
    }
    put(R"(<text x="{:.1f}" y="{:.1f}" fill="#{:06x}">{}</text>)", kLeft, panel.top - 9, palette::kInkSoft,
        what);
  }

  void draw_samples(const Panel& panel, std::size_t policy) {
    Line line;
    double before = 0;
    for (const ThroughputPoint& point : points_[policy]) {
      const double x = panel.x(to_seconds(point.time));
      // What is lost is lost at once.
      if (point.samples < before) line.to(x, panel.y(before));
      line.to(x, panel.y(point.samples));
      before = point.samples;
    }
    put(R"(<path d="{}" stroke="#{:06x}" stroke-width="2"{} stroke-linejoin="round" fill="none"><title>{}</title></path>)",
        std::move(line).path(), colour(policy), dashes(policy), svg_text(runs_[policy].policy));
  }

  void draw_nodes(const Panel& panel) {
    if (longest_ == nullptr) return;
    Line line;
    double before = 0;
    line.to(panel.x(0), panel.y(0));
    for (const auto& [time, held] : longest_->nodes_held()) {
      line.to(panel.x(to_seconds(time)), panel.y(before));
      line.to(panel.x(to_seconds(time)), panel.y(held));
      before = held;
    }
    line.to(panel.x(to_seconds(longest_->end)), panel.y(before));
    line.to(panel.x(to_seconds(longest_->end)), panel.y(0));
    put(R"(<path d="{}z" stroke="#{:06x}" stroke-width="1.2" fill="#{:06x}"/>)", std::move(line).path(),
        palette::kEdge, palette::kSunken);
  }

  void draw_times(const Panel& panel) {
    for (const AxisTick& tick : time_.ticks) {
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", panel.x(tick.value),
          panel.bottom() + 20, tick.label);
    }
    put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" fill="#{:06x}">time ({})</text>)",
        (kLeft + kFigureWidth - kRight) / 2, panel.bottom() + 42, palette::kInkSoft, time_.unit);
  }

  std::span<const RecordedRun> runs_;
  std::string_view title_;
  std::vector<std::vector<ThroughputPoint>> points_;  // by policy
  const RecordedRun* longest_ = nullptr;
  std::int32_t most_nodes_ = 0;
  Axis time_;
  Axis samples_;
  Axis nodes_;
  std::string svg_;
};

}  // namespace

std::string throughput_svg(std::span<const RecordedRun> runs, std::string_view title) {
  return ThroughputFigure(runs, title).draw();
}

}  // namespace goodput
