#include "tools/chart/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "sim/base/append.h"
#include "tools/chart/svg_text.h"
#include "tools/page/palette.h"

namespace goodput {
namespace {

constexpr double kBarsWidth = 760;
constexpr double kBarsLeft = 210;
constexpr double kBarsRight = 150;  // room for values
constexpr double kRowHeight = 26;
constexpr double kBarHeight = 16;
constexpr std::size_t kLongestBarName = 27;

// No character of several bytes is cut in two.
std::string shortened(const std::string& name) {
  if (name.size() <= kLongestBarName) return name;
  std::size_t kept = kLongestBarName - 3;
  while (kept > 0 && (static_cast<unsigned char>(name[kept]) & 0xC0) == 0x80) --kept;
  return name.substr(0, kept) + "...";
}

}  // namespace

std::string bar_chart_svg(const BarChart& chart) {
  const double top = chart.note.empty() ? 52 : 74;
  const double height = top + kRowHeight * static_cast<double>(chart.bars.size()) + 20;
  double longest = 0;
  for (const ChartBar& bar : chart.bars) longest = std::max(longest, bar.length);
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img">)"
      "\n<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#{3:06x}\"/>\n"
      "<g font-family=\"{4}\" font-size=\"13\" fill=\"#{5:06x}\">\n"
      "<text x=\"24\" y=\"32\" font-size=\"17\" font-weight=\"bold\">{2}</text>\n",
      kBarsWidth, height, svg_text(chart.title), palette::kSurface, palette::kFontFamily, palette::kInk);
  if (!chart.note.empty()) {
    append(svg, "<text x=\"24\" y=\"52\" fill=\"#{:06x}\">{}</text>\n", palette::kInkSoft,
           svg_text(chart.note));
  }
  double y = top;
  for (const ChartBar& bar : chart.bars) {
    const double room = kBarsWidth - kBarsLeft - kBarsRight;
    const double width = longest > 0 ? room * std::max(0.0, bar.length) / longest : 0;
    append(svg, "<g><title>{}</title>", svg_text(bar.tip.empty() ? bar.name + ": " + bar.value : bar.tip));
    append(svg, R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", kBarsLeft - 10, y + 13,
           svg_text(shortened(bar.name)));
    append(svg, R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" fill="#{:06x}"/>)", kBarsLeft, y,
           width, kBarHeight, palette::kCategory1);
    append(svg, "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#{:06x}\">{}</text></g>\n", kBarsLeft + width + 8,
           y + 13, palette::kInkSoft, svg_text(bar.value));
    y += kRowHeight;
  }
  return svg + "</g>\n</svg>\n";
}

}  // namespace goodput
