// Heat maps with ranks across, and strips of small ones.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <set>

#include "tools/chart/heatmap.h"
#include "tools/chart/heatmap_figure.h"
#include "tools/chart/heatmap_scale.h"

namespace goodput {
namespace {

HeatmapStrip strip_of(std::size_t panels, std::size_t dp, std::size_t pp) {
  HeatmapStrip strip;
  strip.title = "Slowdown by worker and step";
  strip.dp = dp;
  strip.pp = pp;
  for (std::size_t i = 0; i < panels; ++i) {
    strip.panels.push_back({"step " + std::to_string(i), std::vector<double>(dp * pp, 1)});
  }
  return strip;
}

// The boxes with this start of a tip, in the order of the panels.
std::vector<FigureBox> cells_of(const Figure& figure, const std::string& tip_start) {
  std::vector<FigureBox> cells;
  for (const FigureBox& box : figure.boxes) {
    if (box.tip.starts_with(tip_start)) cells.push_back(box);
  }
  return cells;
}

}  // namespace

TEST_CASE("heat map: with ranks across, stages run down and the axes change names") {
  Heatmap heatmap{.title = "t", .subtitle = "", .dp = 3, .pp = 2, .slowdown = {1, 1, 1, 1, 1, 1.9}};
  heatmap.axes = HeatmapAxes::kReplicasAcross;
  const Figure figure = lay_out(heatmap);
  const FigureBox first = cells_of(figure, "dp 0, stage 0:").at(0);
  const FigureBox worst = cells_of(figure, "dp 2, stage 1:").at(0);
  CHECK(worst.x - first.x == 2 * (cells_of(figure, "dp 1, stage 0:").at(0).x - first.x));
  CHECK(worst.y == cells_of(figure, "dp 0, stage 1:").at(0).y);
  CHECK(worst.y > first.y);
  CHECK(worst.colour == HeatScale(1.9).colour(1.9));
  for (const FigureText& text : figure.texts) {
    if (text.text == kReplicaAxis) CHECK(text.direction == FigureText::Direction::kAcross);
    if (text.text == kStageAxis) CHECK(text.direction == FigureText::Direction::kUp);
  }
}

TEST_CASE("heat map: a tip names rank and host where they are known") {
  Heatmap heatmap{.title = "t", .subtitle = "", .dp = 1, .pp = 2, .slowdown = {1, 1.25}};
  heatmap.worker_notes = {"rank 8, host node<3>", "rank 9"};
  const std::string svg = heatmap_svg(heatmap);
  CHECK(svg.find("<title>dp 0, stage 0 (rank 8, host node&lt;3&gt;): 1</title>") != std::string::npos);
  CHECK(svg.find("<title>dp 0, stage 1 (rank 9): 1.25</title>") != std::string::npos);
}

TEST_CASE("heat map strip: two steps of two workers, as SVG") {
  HeatmapStrip strip = strip_of(2, 1, 2);
  strip.panels[1].slowdown = {1, 1.5};
  // One scale: 1.5 is the dark end, and step 0 is all light.
  const std::string svg = heatmap_svg(strip);
  const auto has = [&](const char* part) { return svg.find(part) != std::string::npos; };
  CHECK(has(">step 0</text>"));
  CHECK(has(">step 1</text>"));
  CHECK(has("<path fill=\"#440154\" d=\"M"));
  CHECK(has("<title>dp 0, stage 1: 1.5</title>"));
  CHECK(has("<title>Slowdown by worker and step</title>"));
  CHECK(has(">pipeline stage</text>"));
  CHECK(has(">data-parallel rank</text>"));
}

TEST_CASE("heat map strip: maps, titles and numbers lie inside, and no map on another, from 1 to 40 steps") {
  for (const HeatmapAxes axes : {HeatmapAxes::kReplicasDown, HeatmapAxes::kReplicasAcross}) {
    for (const std::size_t panels : {1U, 4U, 40U}) {
      for (const auto& size :
           {std::pair<std::size_t, std::size_t>{1, 1}, {2, 16}, {16, 4}, {64, 8}, {512, 8}}) {
        HeatmapStrip strip = strip_of(panels, size.first, size.second);
        strip.axes = axes;
        const Figure figure = lay_out(strip);
        INFO(panels << " of " << size.first << " x " << size.second);
        std::set<std::pair<int, int>> corners;
        std::size_t outside = 0;
        for (const FigureBox& box : figure.boxes) {
          const bool is_inside = box.width > 0 && box.height > 0 && box.x >= 0 && box.y >= 0 &&
                                 box.x + box.width <= figure.width && box.y + box.height <= figure.height;
          outside += is_inside ? 0 : 1;
          if (!box.tip.empty()) corners.emplace(box.x, box.y);
        }
        CHECK(outside == 0);
        CHECK(corners.size() == panels * size.first * size.second);
        for (const FigureText& text : figure.texts) {
          if (text.direction == FigureText::Direction::kUp) continue;
          const int width = text_width(text.text, text.size);
          const int left = text.anchor == Anchor::kStart ? text.x
                           : text.anchor == Anchor::kEnd ? text.x - width
                                                         : text.x - width / 2;
          CHECK_MESSAGE(left >= 0, text.text);
          CHECK_MESSAGE(left + width <= figure.width, text.text);
          CHECK_MESSAGE(text.y <= figure.height, text.text);
        }
      }
    }
  }
}

TEST_CASE("heat map strip: the colours of all maps are of one scale, and what is unknown is grey") {
  HeatmapStrip strip = strip_of(3, 1, 1);
  strip.panels[0].slowdown = {1.2};
  strip.panels[1].slowdown = {2.0};
  strip.panels[2].slowdown = {std::numeric_limits<double>::quiet_NaN()};
  const std::vector<FigureBox> cells = cells_of(lay_out(strip), "dp 0, stage 0:");
  REQUIRE(cells.size() == 3);
  CHECK(cells[0].colour == HeatScale(2.0).colour(1.2));
  CHECK(cells[1].colour == ramp_colour(1));
  CHECK(cells[2].colour == Rgb{205, 205, 205});
}

TEST_CASE("heat map strip: more cells than a viewer shows are refused") {
  const HeatmapStrip strip = strip_of(40, 1024, 16);
  const auto path =
      (std::filesystem::temp_directory_path() / ("goodput_strip_test_" + std::to_string(getpid()))).string();
  const Status status = write_heatmap(strip, path, "steps.svg");
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().message() ==
        "steps.svg: 40 heat maps of 1024 x 16 workers have too many cells to draw (655360; the limit is "
        "500000); draw fewer steps");
  CHECK_FALSE(std::filesystem::exists(path));
}

}  // namespace goodput
