#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "sim/base/append.h"
#include "tools/chart/heatmap.h"
#include "tools/chart/heatmap_figure.h"
#include "tools/page/palette.h"

namespace goodput {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        // XML has no other control characters, not even escaped.
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\t') result += c;
    }
  }
  return result;
}

std::string hex(Rgb colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

// Paths are shorter than rects, and a map has up to tens of thousands of cells.
void append_box(const FigureBox& box, std::string& svg) {
  append(svg, R"(<path fill="{}" d="M{} {}h{}v{}h-{}z")", hex(box.colour), box.x, box.y, box.width,
         box.height, box.width);
  svg += box.tip.empty() ? "/>\n" : fmt::format("><title>{}</title></path>\n", escaped(box.tip));
}

const char* anchor_name(Anchor anchor) {
  switch (anchor) {
    case Anchor::kStart:
      return "start";
    case Anchor::kMiddle:
      return "middle";
    case Anchor::kEnd:
      return "end";
  }
  return "";
}

// Digits are about 0.72 of the font size high; not every viewer knows dominant-baseline.
double below_middle(const FigureText& text) {
  return 0.36 * text.size;
}

void append_text(const FigureText& text, std::string& svg) {
  const bool is_up = text.direction == FigureText::Direction::kUp;
  const double x = is_up ? text.x + below_middle(text) : text.x;
  const double y = is_up ? text.y : text.y + below_middle(text);
  const std::string turn = is_up ? fmt::format(R"-( transform="rotate(-90 {:.2f} {:.2f})")-", x, y) : "";
  append(svg, R"(<text x="{:.2f}" y="{:.2f}" font-size="{}" fill="{}" text-anchor="{}"{}>{}</text>)", x, y,
         text.size, hex(text.colour), anchor_name(text.anchor), turn, escaped(text.text));
  svg += '\n';
}

std::string svg_of(const Figure& figure, std::string_view title) {
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img">)"
      "\n<title>{2}</title>\n<g shape-rendering=\"crispEdges\">\n",
      figure.width, figure.height, escaped(title));
  for (const FigureBox& box : figure.boxes) append_box(box, svg);
  // Numbers in cells let the pointer through to the cell and its tip.
  svg += fmt::format("</g>\n<g font-family=\"{}\" pointer-events=\"none\">\n", palette::kFontFamily);
  for (const FigureText& text : figure.texts) append_text(text, svg);
  return svg + "</g>\n</svg>\n";
}

}  // namespace

std::string heatmap_svg(const Heatmap& heatmap) {
  return svg_of(lay_out(heatmap), heatmap.title);
}

std::string heatmap_svg(const HeatmapStrip& strip) {
  return svg_of(lay_out(strip), strip.title);
}

}  // namespace goodput
