#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include "tools/chart/heatmap.h"
#include "tools/chart/heatmap_scale.h"

namespace goodput {
namespace {

constexpr std::size_t kCellWidth = 6;  // "  1.97" and, in the next cell's first column, its mark
constexpr std::size_t kLegendWidth = 40;

// The entry of the 6 x 6 x 6 cube of the 256-colour palette that is nearest in every channel.
int palette_entry(Rgb colour) {
  constexpr std::array<int, 6> kLevels = {0, 95, 135, 175, 215, 255};
  int entry = 16;
  for (const auto& [channel, weight] : {std::pair{colour.red, 36}, {colour.green, 6}, {colour.blue, 1}}) {
    int nearest = 0;
    for (int level = 1; level < 6; ++level) {
      if (std::abs(kLevels[static_cast<std::size_t>(level)] - channel) <
          std::abs(kLevels[static_cast<std::size_t>(nearest)] - channel)) {
        nearest = level;
      }
    }
    entry += weight * nearest;
  }
  return entry;
}

std::string escape_for(int ground, Rgb colour, TerminalColour kind) {
  if (kind == TerminalColour::k256) return fmt::format("\x1b[{};5;{}m", ground, palette_entry(colour));
  return fmt::format("\x1b[{};2;{};{};{}m", ground, colour.red, colour.green, colour.blue);
}

std::string painted(std::string_view text, Rgb background, TerminalColour kind) {
  if (kind == TerminalColour::kNone) return std::string(text);
  return escape_for(48, background, kind) + escape_for(38, ink_on(background), kind) + std::string(text) +
         "\x1b[0m";
}

// Smallest and largest slowdown of some workers.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double slowdown) {
    if (std::isnan(slowdown)) return;
    low = std::min(low, slowdown);
    high = std::max(high, slowdown);
  }
};

Range range_of(const Heatmap& heatmap, std::size_t dp_rank) {
  Range range;
  for (std::size_t stage = 0; stage < heatmap.pp; ++stage) range.add(heatmap.at(dp_rank, stage));
  return range;
}

class TextMap {
 public:
  TextMap(const Heatmap& heatmap, const HeatmapTextOptions& options)
      : heatmap_(heatmap),
        options_(options),
        worst_(worst_worker(heatmap)),
        scale_(worst_.slowdown),
        label_width_(std::max<std::size_t>(5, 3 + std::to_string(heatmap.dp - 1).size())) {
    choose_rows();
  }

  std::string draw() {
    if (!heatmap_.title.empty()) text_ += heatmap_.title + '\n';
    if (!heatmap_.subtitle.empty()) text_ += heatmap_.subtitle + '\n';
    const std::size_t room = std::max(options_.width, label_width_ + kCellWidth + 1) - label_width_ - 1;
    const std::size_t per_band = balanced_band(room / kCellWidth);
    for (std::size_t first = 0; first < heatmap_.pp; first += per_band) {
      draw_band(first, std::min(first + per_band, heatmap_.pp));
    }
    draw_left_out();
    draw_legend();
    return std::move(text_);
  }

 private:
  // The dp ranks with the largest slowdowns, in their own order; of equals, the first.
  void choose_rows() {
    for (std::size_t dp_rank = 0; dp_rank < heatmap_.dp; ++dp_rank) rows_.push_back(dp_rank);
    if (rows_.size() <= options_.most_rows) return;
    std::vector<double> worst;
    for (const std::size_t dp_rank : rows_) worst.push_back(range_of(heatmap_, dp_rank).high);
    std::stable_sort(rows_.begin(), rows_.end(),
                     [&](std::size_t a, std::size_t b) { return worst[a] > worst[b]; });
    const auto shown = rows_.begin() + static_cast<std::ptrdiff_t>(options_.most_rows);
    left_out_.assign(shown, rows_.end());
    rows_.erase(shown, rows_.end());
    std::sort(rows_.begin(), rows_.end());
  }

  // As many stages a band as fit, but no short last band: 20 stages in room for 16 are 10 and 10.
  [[nodiscard]] std::size_t balanced_band(std::size_t most) const {
    const std::size_t bands = (heatmap_.pp + most - 1) / most;
    return (heatmap_.pp + bands - 1) / bands;
  }

  void draw_band(std::size_t first, std::size_t end) {
    text_ += fmt::format("{:<{}}", "stage", label_width_);
    for (std::size_t stage = first; stage < end; ++stage) text_ += fmt::format("{:>{}}", stage, kCellWidth);
    text_ += '\n';
    for (const std::size_t dp_rank : rows_) draw_row(dp_rank, first, end);
    if (end < heatmap_.pp) text_ += '\n';
  }

  void draw_row(std::size_t dp_rank, std::size_t first, std::size_t end) {
    std::string line = fmt::format("{:<{}} ", fmt::format("dp {}", dp_rank), label_width_);
    for (std::size_t stage = first; stage < end; ++stage) {
      const double slowdown = heatmap_.at(dp_rank, stage);
      const std::string cell =
          fmt::format("{:>{}}{}", slowdown_label(slowdown), kCellWidth - 1, is_marked(slowdown) ? '*' : ' ');
      line += painted(cell, scale_.colour(slowdown), options_.colour);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text_ += line + '\n';
  }

  void draw_left_out() {
    if (left_out_.empty()) return;
    Range range;
    for (const std::size_t dp_rank : left_out_) {
      const Range row = range_of(heatmap_, dp_rank);
      range.add(row.low);
      range.add(row.high);
    }
    text_ +=
        fmt::format("{} more dp rank{} not shown, with slowdowns of {} to {}\n", left_out_.size(),
                    left_out_.size() == 1 ? "" : "s", slowdown_label(range.low), slowdown_label(range.high));
  }

  void draw_legend() {
    if (options_.colour != TerminalColour::kNone) {
      text_ += scale_.tick_label(1) + ' ';
      for (std::size_t i = 0; i < kLegendWidth; ++i) {
        text_ += painted(" ", ramp_colour((static_cast<double>(i) + 0.5) / kLegendWidth), options_.colour);
      }
      text_ += ' ' + scale_.tick_label(scale_.top()) + '\n';
    }
    text_ += fmt::format("1.00: no time lost; worst: {} at dp {}, stage {}", slowdown_label(worst_.slowdown),
                         worst_.dp_rank, worst_.stage);
    if (has_marks()) text_ += "; *: loses at least half as much as the worst worker";
    text_ += '\n';
  }

  [[nodiscard]] bool has_marks() const { return worst_.slowdown >= options_.marks_from; }
  [[nodiscard]] bool is_marked(double slowdown) const {
    return has_marks() && slowdown - 1 >= (worst_.slowdown - 1) / 2;
  }

  const Heatmap& heatmap_;
  const HeatmapTextOptions& options_;
  WorstWorker worst_;
  HeatScale scale_;
  std::size_t label_width_;
  std::vector<std::size_t> rows_;      // dp ranks that are shown
  std::vector<std::size_t> left_out_;  // and those that are not
  std::string text_;
};

}  // namespace

std::string heatmap_text(const Heatmap& heatmap, const HeatmapTextOptions& options) {
  GOODPUT_CHECK(heatmap.dp > 0 && heatmap.pp > 0 && heatmap.slowdown.size() == heatmap.dp * heatmap.pp,
                "a heat map needs a slowdown for every worker");
  return TextMap(heatmap, options).draw();
}

}  // namespace goodput
