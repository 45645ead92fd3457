#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tools/chart/heatmap_figure.h"

namespace goodput {
namespace {

constexpr int kPanelSide = 168;    // about what a map takes, and its larger side at least
constexpr int kStripWidth = 1240;  // about what all take side by side
constexpr int kPanelGap = 18;      // between maps
constexpr int kPanelTitle = 18;    // height of the line above a map
constexpr int kShortestBar = 100;

double largest_of(const HeatmapStrip& strip) {
  double largest = 1;
  for (const HeatmapStrip::Panel& panel : strip.panels) {
    for (const double slowdown : panel.slowdown) {
      if (!std::isnan(slowdown)) largest = std::max(largest, slowdown);
    }
  }
  return largest;
}

class StripLayout {
 public:
  explicit StripLayout(const HeatmapStrip& strip)
      : strip_(strip),
        scale_(largest_of(strip)),
        is_across_(strip.axes == HeatmapAxes::kReplicasAcross),
        columns_(is_across_ ? strip.dp : strip.pp),
        rows_(is_across_ ? strip.pp : strip.dp) {
    // Cells are square where that fits, and long where one side has few of them.
    const int most = kPanelSide / static_cast<int>(std::max<std::size_t>(
                                      1, std::min<std::size_t>(std::max(columns_, rows_), kPanelSide)));
    cell_width_ = cell_size(columns_, kPanelSide, 24, std::max(most, 8));
    cell_height_ = cell_size(rows_, kPanelSide, 24, std::max(most, 8));
    gap_ = std::min(cell_width_, cell_height_) >= 6 ? 1 : 0;
    map_width_ = static_cast<int>(columns_) * cell_width_ + gap_;
    map_height_ = static_cast<int>(rows_) * cell_height_ + gap_;
    panel_width_ = map_width_;
    for (const HeatmapStrip::Panel& panel : strip.panels)
      panel_width_ = std::max(panel_width_, text_width(panel.title, kTickSize));
    left_ = kMargin + kLabelSize + 8 + text_width(std::to_string(rows_ - 1), kTickSize) + kTickLength + 6;
    const auto fit = std::max(1, (kStripWidth - left_ + kPanelGap) / (panel_width_ + kPanelGap));
    across_ = std::min(strip.panels.size(), static_cast<std::size_t>(fit));
    figure_.width = left_ + maps_width() + kBarGap + kBarSpace;
  }

  Figure lay_out() {
    figure_.boxes.push_back({0, 0, 0, 0, kWhite, {}});  // the page; its size is known at the end
    const int width = figure_.width - 2 * kMargin;
    top_ = add_lines(figure_, kMargin, strip_.title, kTitleSize, FigureText{}.colour, width);
    top_ = add_lines(figure_, top_, strip_.subtitle, kTickSize, kSubtitle, width) + 10;
    for (std::size_t i = 0; i < strip_.panels.size(); ++i) add_panel(i);
    add_axis_names();
    const int bar = std::clamp(maps_height() - 2 * kPanelTitle, kShortestBar, 2 * kPanelSide);
    add_colour_bar(figure_, scale_, left_ + maps_width() + kBarGap, top_ + kPanelTitle, bar);
    figure_.height = top_ + std::max(maps_height() + kTickLength + 46, kPanelTitle + bar + 40);
    figure_.boxes.front().width = figure_.width;
    figure_.boxes.front().height = figure_.height;
    return std::move(figure_);
  }

 private:
  [[nodiscard]] std::size_t down() const { return (strip_.panels.size() + across_ - 1) / across_; }
  [[nodiscard]] int pitch_x() const { return panel_width_ + kPanelGap; }
  [[nodiscard]] int pitch_y() const { return kPanelTitle + map_height_ + kPanelGap; }
  [[nodiscard]] int maps_width() const { return static_cast<int>(across_) * pitch_x() - kPanelGap; }
  [[nodiscard]] int maps_height() const { return static_cast<int>(down()) * pitch_y() - kPanelGap; }

  void add_panel(std::size_t i) {
    const int x = left_ + static_cast<int>(i % across_) * pitch_x();
    const int y = top_ + static_cast<int>(i / across_) * pitch_y() + kPanelTitle;
    const HeatmapStrip::Panel& panel = strip_.panels[i];
    figure_.texts.push_back({x, y - kPanelTitle / 2, panel.title, kTickSize, Anchor::kStart});
    figure_.boxes.push_back({x - 1, y - 1, map_width_ + 2, map_height_ + 2, kFrame, {}});
    figure_.boxes.push_back({x, y, map_width_, map_height_, kWhite, {}});
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t column = 0; column < columns_; ++column) add_cell(panel, row, column, x, y);
    }
    // Numbers at the left of a row of maps and below the last of a column.
    if (i % across_ == 0) add_row_numbers(x, y);
    if (i + across_ >= strip_.panels.size()) add_column_numbers(x, y + map_height_ + 1);
  }

  // (x, y): of the map.
  void add_cell(const HeatmapStrip::Panel& panel, std::size_t row, std::size_t column, int x, int y) {
    const std::size_t dp_rank = is_across_ ? column : row;
    const std::size_t stage = is_across_ ? row : column;
    const std::size_t worker = dp_rank * strip_.pp + stage;
    const double slowdown = panel.slowdown[worker];
    figure_.boxes.push_back(
        {x + static_cast<int>(column) * cell_width_ + gap_, y + static_cast<int>(row) * cell_height_ + gap_,
         cell_width_ - gap_, cell_height_ - gap_, scale_.colour(slowdown),
         worker_tip(dp_rank, stage, strip_.worker_notes.empty() ? "" : strip_.worker_notes[worker],
                    slowdown)});
  }

  void add_row_numbers(int x, int y) {
    const std::size_t interval = label_interval(cell_height_, kTickSize + 7);
    for (std::size_t row = 0; row < rows_; row += interval) {
      const int at = y + static_cast<int>(row) * cell_height_ + (cell_height_ + gap_) / 2;
      figure_.boxes.push_back({x - 1 - kTickLength, at, kTickLength, 1, kFrame, {}});
      figure_.texts.push_back({x - kTickLength - 5, at, std::to_string(row), kTickSize, Anchor::kEnd});
    }
  }

  void add_column_numbers(int x, int y) {
    const int label_width = text_width(std::to_string(columns_ - 1), kTickSize);
    const std::size_t interval = label_interval(cell_width_, label_width + 8);
    for (std::size_t column = 0; column < columns_; column += interval) {
      const int at = x + static_cast<int>(column) * cell_width_ + (cell_width_ + gap_) / 2;
      figure_.boxes.push_back({at, y, 1, kTickLength, kFrame, {}});
      figure_.texts.push_back({at, y + kTickLength + 9, std::to_string(column), kTickSize, Anchor::kMiddle});
    }
  }

  void add_axis_names() {
    const std::string columns = is_across_ ? kReplicaAxis : kStageAxis;
    const std::string rows = is_across_ ? kStageAxis : kReplicaAxis;
    figure_.texts.push_back(
        {left_, top_ + maps_height() + kTickLength + 30, columns, kLabelSize, Anchor::kStart});
    figure_.texts.push_back({kMargin + kLabelSize / 2, top_ + kPanelTitle + std::max(map_height_, 130) / 2,
                             rows, kLabelSize, Anchor::kMiddle, FigureText{}.colour,
                             FigureText::Direction::kUp});
  }

  const HeatmapStrip& strip_;
  HeatScale scale_;
  bool is_across_;
  std::size_t columns_;
  std::size_t rows_;
  std::size_t across_ = 1;  // maps side by side
  Figure figure_;
  int cell_width_ = 0;
  int cell_height_ = 0;
  int gap_ = 0;
  int map_width_ = 0;
  int map_height_ = 0;
  int panel_width_ = 0;  // of a map or its title
  int left_ = 0;         // of the first map
  int top_ = 0;          // of the first panel
};

}  // namespace

Figure lay_out(const HeatmapStrip& strip) {
  GOODPUT_CHECK(!strip.panels.empty() && strip.dp > 0 && strip.pp > 0,
                "a strip of heat maps must have at least one heat map");
  for (const HeatmapStrip::Panel& panel : strip.panels) {
    GOODPUT_CHECK(panel.slowdown.size() == strip.dp * strip.pp,
                  "a heat map needs a slowdown for every worker");
  }
  return StripLayout(strip).lay_out();
}

}  // namespace goodput
