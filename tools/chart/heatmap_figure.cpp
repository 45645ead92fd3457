#include "tools/chart/heatmap_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace goodput {
namespace {

constexpr int kBarWidth = 16;
constexpr int kBarSlice = 2;
constexpr int kLongestBar = 320;
constexpr int kLeastTitleWidth = 420;

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
  explicit FigureLayout(const Heatmap& heatmap)
      : heatmap_(heatmap),
        scale_(worst_worker(heatmap).slowdown),
        is_across_(heatmap.axes == HeatmapAxes::kReplicasAcross),
        columns_(is_across_ ? heatmap.dp : heatmap.pp),
        rows_(is_across_ ? heatmap.pp : heatmap.dp) {
    cell_width_ = cell_size(columns_, is_across_ ? 1024 : 640, 120, 56);
    cell_height_ = cell_size(rows_, is_across_ ? 640 : 1024, 128, std::clamp(2 * cell_width_, 16, 40));
    // A white line between cells, where there is room for one.
    gap_ = std::min(cell_width_, cell_height_) >= 6 ? 1 : 0;
    map_width_ = static_cast<int>(columns_) * cell_width_ + gap_;
    map_height_ = static_cast<int>(rows_) * cell_height_ + gap_;
    map_x_ = kMargin + kLabelSize + 8 + text_width(std::to_string(rows_ - 1), kTickSize) + kTickLength + 6;
    figure_.width = map_x_ + map_width_ + kBarGap + kBarSpace;
  }

  Figure lay_out() {
    add_titles();
    add_cells();
    add_column_axis();
    add_row_axis();
    // Its name goes below it, still beside the map.
    add_colour_bar(figure_, scale_, map_x_ + map_width_ + kBarGap, map_y_,
                   std::clamp(map_height_ - 24, 100, kLongestBar));
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
    const int width = std::max(figure_.width - 2 * kMargin, kLeastTitleWidth);
    map_y_ = add_lines(figure_, kMargin, heatmap_.title, kTitleSize, FigureText{}.colour, width);
    map_y_ = add_lines(figure_, map_y_, heatmap_.subtitle, kTickSize, kSubtitle, width);
    map_y_ += 14;
    figure_.height = map_y_ + map_height_ + kTickLength + 46;
  }

  void add_cells() {
    add_box(map_x_ - 1, map_y_ - 1, map_width_ + 2, map_height_ + 2, kFrame);
    add_box(map_x_, map_y_, map_width_, map_height_, kWhite);
    const bool with_numbers = cell_width_ >= 30 && cell_height_ >= 14;
    const int size = cell_width_ >= 44 && cell_height_ >= 22 ? 12 : 10;
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t column = 0; column < columns_; ++column) {
        const std::size_t dp_rank = is_across_ ? column : row;
        const std::size_t stage = is_across_ ? row : column;
        const double slowdown = heatmap_.at(dp_rank, stage);
        const std::size_t worker = dp_rank * heatmap_.pp + stage;
        const Rgb colour = scale_.colour(slowdown);
        const int x = cell_x(column);
        const int y = cell_y(row);
        add_box(x + gap_, y + gap_, cell_width_ - gap_, cell_height_ - gap_, colour,
                worker_tip(dp_rank, stage, heatmap_.worker_notes.empty() ? "" : heatmap_.worker_notes[worker],
                           slowdown));
        if (!with_numbers) continue;
        figure_.texts.push_back({x + (cell_width_ + gap_) / 2, y + (cell_height_ + gap_) / 2,
                                 slowdown_label(slowdown), size, Anchor::kMiddle, ink_on(colour)});
      }
    }
  }

  void add_column_axis() {
    const int bottom = map_y_ + map_height_ + 1;
    const int label_width = text_width(std::to_string(columns_ - 1), kTickSize);
    const std::size_t interval = label_interval(cell_width_, label_width + 8);
    for (std::size_t column = 0; column < columns_; column += interval) {
      const int x = cell_x(column) + (cell_width_ + gap_) / 2;
      add_box(x, bottom, 1, kTickLength, kFrame);
      figure_.texts.push_back(
          {x, bottom + kTickLength + 9, std::to_string(column), kTickSize, Anchor::kMiddle});
    }
    figure_.texts.push_back({map_x_ + map_width_ / 2, bottom + kTickLength + 29,
                             is_across_ ? kReplicaAxis : kStageAxis, kLabelSize, Anchor::kMiddle});
  }

  void add_row_axis() {
    // Every row as long as the numbers do not touch; else few of them.
    const std::size_t interval = cell_height_ >= kTickSize + 3 ? 1 : label_interval(cell_height_, 24);
    for (std::size_t row = 0; row < rows_; row += interval) {
      const int y = cell_y(row) + (cell_height_ + gap_) / 2;
      add_box(map_x_ - 1 - kTickLength, y, kTickLength, 1, kFrame);
      figure_.texts.push_back({map_x_ - kTickLength - 5, y, std::to_string(row), kTickSize, Anchor::kEnd});
    }
    figure_.texts.push_back({kMargin + kLabelSize / 2, map_y_ + map_height_ / 2,
                             is_across_ ? kStageAxis : kReplicaAxis, kLabelSize, Anchor::kMiddle,
                             FigureText{}.colour, FigureText::Direction::kUp});
  }

  [[nodiscard]] int cell_x(std::size_t column) const {
    return map_x_ + static_cast<int>(column) * cell_width_;
  }
  [[nodiscard]] int cell_y(std::size_t row) const { return map_y_ + static_cast<int>(row) * cell_height_; }

  const Heatmap& heatmap_;
  HeatScale scale_;
  bool is_across_;
  std::size_t columns_;
  std::size_t rows_;
  Figure figure_;
  int cell_width_ = 0;
  int cell_height_ = 0;
  int gap_ = 0;
  int map_x_ = 0;
  int map_y_ = 0;
  int map_width_ = 0;
  int map_height_ = 0;
};

}  // namespace

int cell_size(std::size_t count, int wanted, int least_total, int most) {
  const int n = static_cast<int>(count);
  const int size = std::clamp(wanted / n, 1, most);
  return std::max(size, (least_total + n - 1) / n);
}

std::size_t label_interval(int size, int spacing) {
  std::size_t interval = 1;
  while (static_cast<int>(interval) * size < spacing) interval *= 2;
  return interval;
}

int add_lines(Figure& figure, int y, std::string_view text, int size, Rgb colour, int width) {
  for (std::string& line : wrapped(text, size, width)) {
    figure.width = std::max(figure.width, 2 * kMargin + text_width(line, size));
    figure.texts.push_back({kMargin, y + size / 2, std::move(line), size, Anchor::kStart, colour});
    y += size + 5;
  }
  return y;
}

void add_colour_bar(Figure& figure, const HeatScale& scale, int x, int y, int height) {
  height = height / kBarSlice * kBarSlice;
  figure.boxes.push_back({x - 1, y - 1, kBarWidth + 2, height + 2, kFrame, {}});
  for (int down = 0; down < height; down += kBarSlice) {
    const double position = 1 - (down + kBarSlice / 2.0) / height;
    figure.boxes.push_back({x, y + down, kBarWidth, kBarSlice, ramp_colour(position), {}});
  }
  for (const double tick : scale.ticks()) {
    const double position = (tick - 1) / (scale.top() - 1);
    const int tick_y = y + static_cast<int>((height - 1) * (1 - position));
    figure.boxes.push_back({x + kBarWidth + 1, tick_y, kTickLength, 1, kFrame, {}});
    figure.texts.push_back(
        {x + kBarWidth + kTickLength + 5, tick_y, scale.tick_label(tick), kTickSize, Anchor::kStart});
  }
  figure.texts.push_back({x, y + height + 16, "slowdown", kTickSize, Anchor::kStart});
}

std::string worker_tip(std::size_t dp_rank, std::size_t stage, std::string_view note, double slowdown) {
  return fmt::format("dp {}, stage {}{}: {:.4g}", dp_rank, stage,
                     note.empty() ? "" : fmt::format(" ({})", note), slowdown);
}

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
