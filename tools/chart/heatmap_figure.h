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

}  // namespace goodput
