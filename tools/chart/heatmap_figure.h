// A heat map laid out as a picture: filled boxes and lines of text, for any renderer.
//
// Units are whole pixels at 96 dpi, from the top left. Boxes are painted in order, texts above all boxes.
#pragma once

#include <string>
#include <vector>

#include "tools/chart/heatmap.h"
#include "tools/chart/heatmap_scale.h"

namespace goodput {

struct FigureBox {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  Rgb colour;
  std::string tip;  // shown when pointed at, where that is possible
};

enum class Anchor { kStart, kMiddle, kEnd };

struct FigureText {
  enum class Direction { kAcross, kUp };

  int x = 0;  // the anchored point of the line
  int y = 0;  // the middle of the height of its digits and capitals
  std::string text;
  int size = 11;  // of the font
  Anchor anchor = Anchor::kStart;
  Rgb colour = {51, 51, 51};
  Direction direction = Direction::kAcross;
};

struct Figure {
  int width = 0;
  int height = 0;
  std::vector<FigureBox> boxes;
  std::vector<FigureText> texts;
};

inline constexpr int kTitleSize = 15;  // and the largest; the bitmap font has two sizes

// The width that a line takes at most in ordinary text.
[[nodiscard]] int text_width(std::string_view text, int size);

[[nodiscard]] Figure lay_out(const Heatmap& heatmap);
[[nodiscard]] Figure lay_out(const HeatmapStrip& strip);  // REQUIRES: a panel

// What is shown when a worker is pointed at.
[[nodiscard]] std::string worker_tip(std::size_t dp_rank, std::size_t stage, std::string_view note,
                                     double slowdown);

// Parts of a picture.
inline constexpr Rgb kWhite = {255, 255, 255};
inline constexpr Rgb kFrame = {150, 150, 150};
inline constexpr Rgb kSubtitle = {110, 110, 110};
inline constexpr int kMargin = 16;
inline constexpr int kTickSize = 11;
inline constexpr int kLabelSize = 12;
inline constexpr int kTickLength = 4;
inline constexpr int kBarGap = 28;    // between maps and colour bar
inline constexpr int kBarSpace = 76;  // of the colour bar with its numbers

inline constexpr const char* kStageAxis = "pipeline stage";
inline constexpr const char* kReplicaAxis = "data-parallel rank";

// How wide or high a cell is, of `count` that share about `wanted` pixels: a pixel at least, `most` at most,
// and all together `least_total`.
[[nodiscard]] int cell_size(std::size_t count, int wanted, int least_total, int most);

// Of `count` cells of `size`, every how many-th to label so that labels are `spacing` apart: a power of two,
// as sizes of training jobs are.
[[nodiscard]] std::size_t label_interval(int size, int spacing);

// Lines of text from (kMargin, y) down, wrapped so that they are `width` wide at most; the figure gets as
// wide as they are. Returns where the next line would begin.
int add_lines(Figure& figure, int y, std::string_view text, int size, Rgb colour, int width);

// A colour bar of `height` with its top left at (x, y).
void add_colour_bar(Figure& figure, const HeatScale& scale, int x, int y, int height);

}  // namespace goodput
