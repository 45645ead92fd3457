#include "tools/chart/heatmap_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace goodput {
namespace {

constexpr int kMargin = 16;
constexpr int kTickSize = 11;
constexpr int kLabelSize = 12;
constexpr int kTickLength = 4;
constexpr int kBarWidth = 16;
constexpr int kBarGap = 28;  // between the map and the colour bar
constexpr int kBarSlice = 2;
constexpr int kLongestBar = 320;
constexpr int kLeastTitleWidth = 420;

constexpr Rgb kWhite = {255, 255, 255};
constexpr Rgb kFrame = {150, 150, 150};
constexpr Rgb kSubtitle = {110, 110, 110};

// How wide or high a cell is, of `count` that share about `wanted` pixels: at least as many as the axis label
// needs, and a pixel each.
int cell_size(std::size_t count, int wanted, int least_total, int most) {
  const int n = static_cast<int>(count);
  const int size = std::clamp(wanted / n, 1, most);
  return std::max(size, (least_total + n - 1) / n);
}

// Of `count` cells of `size`, every how many-th to label so that labels are `spacing` apart: a power of two,
// as sizes of training jobs are.
std::size_t label_interval(int size, int spacing) {
  std::size_t interval = 1;
  while (static_cast<int>(interval) * size < spacing) interval *= 2;
  return interval;
}

std::vector<std::string> wrapped(std::string_view text, int size, int width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (lines.empty() || text_width(lines.back() + ' ' + std::string(word), size) > width) {
      lines.emplace_back(word);
    } else {
      lines.back().append(1, ' ').append(word);
    }
  }
  return lines;
}

class FigureLayout {
 public:
  explicit FigureLayout(const Heatmap& heatmap) : heatmap_(heatmap), scale_(worst_worker(heatmap).slowdown) {
    cell_width_ = cell_size(heatmap.pp, 640, 120, 56);
    cell_height_ = cell_size(heatmap.dp, 1024, 128, std::clamp(2 * cell_width_, 16, 40));
    // A white line between cells, where there is room for one.
    gap_ = std::min(cell_width_, cell_height_) >= 6 ? 1 : 0;
    map_width_ = static_cast<int>(heatmap.pp) * cell_width_ + gap_;
    map_height_ = static_cast<int>(heatmap.dp) * cell_height_ + gap_;
    map_x_ =
        kMargin + kLabelSize + 8 + text_width(std::to_string(heatmap.dp - 1), kTickSize) + kTickLength + 6;
    bar_x_ = map_x_ + map_width_ + kBarGap;
    figure_.width = bar_x_ + kBarWidth + 60;
  }

  Figure lay_out() {
    add_titles();
    add_cells();
    add_stage_axis();
    add_dp_axis();
    add_colour_bar();
    figure_.boxes.front().width = figure_.width;
    figure_.boxes.front().height = figure_.height;
    return std::move(figure_);
  }

 private:
  void add_box(int x, int y, int width, int height, Rgb colour, std::string tip = {}) {
    figure_.boxes.push_back({x, y, width, height, colour, std::move(tip)});
  }

  // Leaves map_y_ below the last line.
  void add_titles() {
    add_box(0, 0, 0, 0, kWhite);  // the page; its size is known at the end
    map_y_ = kMargin;
    const int width = std::max(figure_.width - 2 * kMargin, kLeastTitleWidth);
    const auto add_lines = [&](std::string_view text, int size, Rgb colour) {
      for (std::string& line : wrapped(text, size, width)) {
        figure_.width = std::max(figure_.width, 2 * kMargin + text_width(line, size));
        figure_.texts.push_back({kMargin, map_y_ + size / 2, std::move(line), size, Anchor::kStart, colour});
        map_y_ += size + 5;
      }
    };
    add_lines(heatmap_.title, kTitleSize, FigureText{}.colour);
    add_lines(heatmap_.subtitle, kTickSize, kSubtitle);
    map_y_ += 14;
    figure_.height = map_y_ + map_height_ + kTickLength + 46;
  }

  void add_cells() {
    add_box(map_x_ - 1, map_y_ - 1, map_width_ + 2, map_height_ + 2, kFrame);
    add_box(map_x_, map_y_, map_width_, map_height_, kWhite);
    const bool with_numbers = cell_width_ >= 30 && cell_height_ >= 14;
    const int size = cell_width_ >= 44 && cell_height_ >= 22 ? 12 : 10;
    for (std::size_t dp_rank = 0; dp_rank < heatmap_.dp; ++dp_rank) {
      for (std::size_t stage = 0; stage < heatmap_.pp; ++stage) {
        const double slowdown = heatmap_.at(dp_rank, stage);
        const Rgb colour = scale_.colour(slowdown);
        const int x = cell_x(stage);
        const int y = cell_y(dp_rank);
        add_box(x + gap_, y + gap_, cell_width_ - gap_, cell_height_ - gap_, colour,
                fmt::format("dp {}, stage {}: {:.4g}", dp_rank, stage, slowdown));
        if (!with_numbers) continue;
        figure_.texts.push_back({x + (cell_width_ + gap_) / 2, y + (cell_height_ + gap_) / 2,
                                 slowdown_label(slowdown), size, Anchor::kMiddle, ink_on(colour)});
      }
    }
  }

  void add_stage_axis() {
    const int bottom = map_y_ + map_height_ + 1;
    const int label_width = text_width(std::to_string(heatmap_.pp - 1), kTickSize);
    const std::size_t interval = label_interval(cell_width_, label_width + 8);
    for (std::size_t stage = 0; stage < heatmap_.pp; stage += interval) {
      const int x = cell_x(stage) + (cell_width_ + gap_) / 2;
      add_box(x, bottom, 1, kTickLength, kFrame);
      figure_.texts.push_back(
          {x, bottom + kTickLength + 9, std::to_string(stage), kTickSize, Anchor::kMiddle});
    }
    figure_.texts.push_back(
        {map_x_ + map_width_ / 2, bottom + kTickLength + 29, "pipeline stage", kLabelSize, Anchor::kMiddle});
  }

  void add_dp_axis() {
    // Every rank as long as the numbers do not touch; else few of them.
    const std::size_t interval = cell_height_ >= kTickSize + 3 ? 1 : label_interval(cell_height_, 24);
    for (std::size_t dp_rank = 0; dp_rank < heatmap_.dp; dp_rank += interval) {
      const int y = cell_y(dp_rank) + (cell_height_ + gap_) / 2;
      add_box(map_x_ - 1 - kTickLength, y, kTickLength, 1, kFrame);
      figure_.texts.push_back(
          {map_x_ - kTickLength - 5, y, std::to_string(dp_rank), kTickSize, Anchor::kEnd});
    }
    figure_.texts.push_back({kMargin + kLabelSize / 2, map_y_ + map_height_ / 2, "data-parallel rank",
                             kLabelSize, Anchor::kMiddle, FigureText{}.colour, FigureText::Direction::kUp});
  }

  void add_colour_bar() {
    // Its name goes below it, still beside the map.
    const int height = std::clamp(map_height_ - 24, 100, kLongestBar) / kBarSlice * kBarSlice;
    const int top = map_y_;
    add_box(bar_x_ - 1, top - 1, kBarWidth + 2, height + 2, kFrame);
    for (int y = 0; y < height; y += kBarSlice) {
      const double position = 1 - (y + kBarSlice / 2.0) / height;
      add_box(bar_x_, top + y, kBarWidth, kBarSlice, ramp_colour(position));
    }
    for (const double tick : scale_.ticks()) {
      const double position = (tick - 1) / (scale_.top() - 1);
      const int y = top + static_cast<int>((height - 1) * (1 - position));
      add_box(bar_x_ + kBarWidth + 1, y, kTickLength, 1, kFrame);
      figure_.texts.push_back(
          {bar_x_ + kBarWidth + kTickLength + 5, y, scale_.tick_label(tick), kTickSize, Anchor::kStart});
    }
    figure_.texts.push_back({bar_x_, top + height + 16, "slowdown", kTickSize, Anchor::kStart});
  }

  [[nodiscard]] int cell_x(std::size_t stage) const { return map_x_ + static_cast<int>(stage) * cell_width_; }
  [[nodiscard]] int cell_y(std::size_t dp_rank) const {
    return map_y_ + static_cast<int>(dp_rank) * cell_height_;
  }

  const Heatmap& heatmap_;
  HeatScale scale_;
  Figure figure_;
  int cell_width_ = 0;
  int cell_height_ = 0;
  int gap_ = 0;
  int map_x_ = 0;
  int map_y_ = 0;
  int map_width_ = 0;
  int map_height_ = 0;
  int bar_x_ = 0;
};

}  // namespace

int text_width(std::string_view text, int size) {
  const int letters = static_cast<int>(text.size());
  return size >= kTitleSize ? letters * 9 : (letters * 13 + 1) / 2;
}

Figure lay_out(const Heatmap& heatmap) {
  GOODPUT_CHECK(heatmap.dp > 0 && heatmap.pp > 0 && heatmap.slowdown.size() == heatmap.dp * heatmap.pp,
                "a heat map needs a slowdown for every worker");
  return FigureLayout(heatmap).lay_out();
}

}  // namespace goodput
