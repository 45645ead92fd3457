#include "tools/chart/heatmap.h"

#include <doctest/doctest.h>
#include <png.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "tools/chart/bitmap_font.h"
#include "tools/chart/heatmap_figure.h"
#include "tools/chart/heatmap_scale.h"

namespace goodput {
namespace {

Heatmap uniform(std::size_t dp, std::size_t pp, double slowdown = 1) {
  return {.title = "Slowdown by worker",
          .subtitle = "",
          .dp = dp,
          .pp = pp,
          .slowdown = std::vector<double>(dp * pp, slowdown)};
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

struct Lab {
  double lightness, a, b;
};

// CIE 1976 L*a*b* of an sRGB colour, white point D65.
Lab lab_of(Rgb colour) {
  const auto linear = [](std::uint8_t channel) {
    const double value = channel / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  const double r = linear(colour.red);
  const double g = linear(colour.green);
  const double b = linear(colour.blue);
  const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
  const double x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const double y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const double z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

struct Picture {
  png_image image{};
  std::vector<Rgb> pixels;

  [[nodiscard]] Rgb at(int x, int y) const {
    return pixels.at(static_cast<std::size_t>(y) * image.width + static_cast<std::size_t>(x));
  }
};

Picture decode(const std::string& bytes) {
  Picture picture;
  picture.image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&picture.image, bytes.data(), bytes.size()) != 0);
  picture.image.format = PNG_FORMAT_RGB;
  picture.pixels.resize(static_cast<std::size_t>(picture.image.width) * picture.image.height);
  REQUIRE(png_image_finish_read(&picture.image, nullptr, picture.pixels.data(), 0, nullptr) != 0);
  return picture;
}

// The box of a worker in the laid out picture.
FigureBox cell_of(const Figure& figure, const std::string& tip_start) {
  for (const FigureBox& box : figure.boxes) {
    if (box.tip.starts_with(tip_start)) return box;
  }
  FAIL("no cell " << tip_start);
  return {};
}

}  // namespace

TEST_CASE("heat map scale: 1 and less is the light end, the top and more the dark end") {
  const HeatScale scale(1.97);
  CHECK(scale.top() == doctest::Approx(2.0).epsilon(1e-12));
  CHECK(scale.colour(1) == ramp_colour(0));
  CHECK(scale.colour(0.9) == ramp_colour(0));
  CHECK(scale.colour(1.5) == ramp_colour(0.5));
  CHECK(scale.colour(2) == ramp_colour(1));
  CHECK(scale.colour(3) == ramp_colour(1));
}

TEST_CASE("heat map scale: ticks are round numbers from 1 to the first that holds the largest slowdown") {
  const auto labels = [](double largest) {
    const HeatScale scale(largest);
    std::string text;
    for (const double tick : scale.ticks()) text += scale.tick_label(tick) + ' ';
    return text;
  };
  CHECK(labels(1.97) == "1.0 1.2 1.4 1.6 1.8 2.0 ");
  CHECK(labels(1.2) == "1.00 1.05 1.10 1.15 1.20 ");
  CHECK(labels(1.53) == "1.0 1.2 1.4 1.6 ");
  CHECK(labels(30) == "1 10 20 30 ");
  // Noise, nothing lost, nothing known.
  CHECK(labels(1.003) == "1.00 1.02 1.04 1.06 1.08 1.10 ");
  CHECK(labels(0.98) == labels(1.003));
  CHECK(labels(std::numeric_limits<double>::quiet_NaN()) == labels(1.003));
}

TEST_CASE("heat map scale: equal steps look equal and every step is darker") {
  // Lightness L* falls from 91 to 15; in twentieths of the ramp, each step within a half of the mean one.
  constexpr int kSteps = 20;
  const double mean_step = (lab_of(ramp_colour(0)).lightness - lab_of(ramp_colour(1)).lightness) / kSteps;
  CHECK(mean_step > 3.7);
  for (int i = 0; i < kSteps; ++i) {
    const double step = lab_of(ramp_colour(double{1} * i / kSteps)).lightness -
                        lab_of(ramp_colour(double{1} * (i + 1) / kSteps)).lightness;
    INFO("step " << i);
    CHECK(step > 0.5 * mean_step);
    CHECK(step < 1.5 * mean_step);
  }
}

TEST_CASE("heat map scale: numbers contrast with the cell they stand in") {
  for (int i = 0; i <= 50; ++i) {
    const Rgb background = ramp_colour(i / 50.0);
    const double a = lab_of(background).lightness;
    const double b = lab_of(ink_on(background)).lightness;
    CHECK(std::abs(a - b) > 40);
  }
}

TEST_CASE("heat map text: a table with marks that needs no colour") {
  Heatmap heatmap = uniform(2, 3);
  heatmap.subtitle = "step 7";
  heatmap.slowdown = {1.0, 0.994, 1.5, 1.97, 1.4, 12.3};
  heatmap.slowdown[5] = std::numeric_limits<double>::quiet_NaN();
  // Half of the worst loss of 0.97 is 0.485: 1.5 is marked, 1.4 is not.
  CHECK(heatmap_text(heatmap) ==
        "Slowdown by worker\n"
        "step 7\n"
        "stage     0     1     2\n"
        "dp 0   1.00  0.99  1.50*\n"
        "dp 1   1.97* 1.40     -\n"
        "1.00: no time lost; worst: 1.97 at dp 1, stage 0; *: loses at least half as much as the worst "
        "worker\n");
}

TEST_CASE("heat map text: nobody is marked when hardly anything is lost") {
  CHECK(heatmap_text(uniform(1, 1, 1.009)) ==
        "Slowdown by worker\n"
        "stage     0\n"
        "dp 0   1.01\n"
        "1.00: no time lost; worst: 1.01 at dp 0, stage 0\n");
}

TEST_CASE("heat map text: of many dp ranks those that matter are shown, and what the others have is said") {
  Heatmap heatmap = uniform(500, 2);
  for (std::size_t dp_rank = 0; dp_rank < 500; ++dp_rank) {
    heatmap.slowdown[dp_rank * 2] = 1 + 0.001 * static_cast<double>(dp_rank);
  }
  heatmap.slowdown[2 * 7 + 1] = 1.9;
  const std::string text = heatmap_text(heatmap, {.most_rows = 3});
  // 1.9 of dp 7 and the two last; left out are 497 with 1.00 to 1 + 0.497.
  CHECK(text ==
        "Slowdown by worker\n"
        "stage      0     1\n"
        "dp 7    1.01  1.90*\n"
        "dp 498  1.50* 1.00\n"
        "dp 499  1.50* 1.00\n"
        "497 more dp ranks not shown, with slowdowns of 1.00 to 1.50\n"
        "1.00: no time lost; worst: 1.90 at dp 7, stage 1; *: loses at least half as much as the worst "
        "worker\n");
}

TEST_CASE("heat map text: many stages are drawn in bands of equal width that fit") {
  // A label of 6 columns and cells of 6: 15 stages in 100 columns. 40 stages are three bands of 14, 14, 12.
  const auto lines = lines_of(heatmap_text(uniform(1, 40)));
  REQUIRE(lines.size() == 1 + 3 * 2 + 2 + 1);
  CHECK(lines[1].ends_with(" 13"));
  CHECK(lines[4].ends_with(" 27"));
  CHECK(lines[7].ends_with(" 39"));
  for (const std::string& line : lines) CHECK(line.size() <= 100);
}

TEST_CASE("heat map text: a terminal too narrow for one cell gets one stage a band") {
  CHECK(count(heatmap_text(uniform(1, 3), {.width = 5}), "stage") == 3 + 1);  // and once in the legend
}

TEST_CASE("heat map text: colours come from the scale of the pictures and end with every cell") {
  Heatmap heatmap = uniform(1, 2);
  heatmap.slowdown[1] = 2;
  const Rgb light = ramp_colour(0);
  const std::string text = heatmap_text(heatmap, {.colour = TerminalColour::k24Bit});
  std::ostringstream escape;
  escape << "\x1b[48;2;" << int{light.red} << ';' << int{light.green} << ';' << int{light.blue}
         << "m\x1b[38;2;20;20;20m 1.00 \x1b[0m";
  CHECK(text.find(escape.str()) != std::string::npos);
  CHECK(count(text, "\x1b[48;") == count(text, "\x1b[0m"));
  // (253, 231, 37) is nearest to levels 5, 4, 0 of the colour cube: 16 + 180 + 24 + 0.
  const std::string palette = heatmap_text(heatmap, {.colour = TerminalColour::k256});
  CHECK(palette.find("\x1b[48;5;220m") != std::string::npos);
  CHECK(heatmap_text(heatmap).find('\x1b') == std::string::npos);
}

TEST_CASE("heat map figure: cells and labels lie inside and side by side from 1 x 1 to 512 x 64") {
  for (const auto& size : {std::pair<std::size_t, std::size_t>{1, 1}, {4, 4}, {1, 64}, {64, 8}, {512, 64}}) {
    const std::size_t dp = size.first;
    const std::size_t pp = size.second;
    const Figure figure = lay_out(uniform(dp, pp));
    INFO(dp << " x " << pp);
    std::size_t cells = 0;
    for (const FigureBox& box : figure.boxes) {
      CHECK(box.width > 0);
      CHECK(box.height > 0);
      CHECK(box.x >= 0);
      CHECK(box.y >= 0);
      CHECK(box.x + box.width <= figure.width);
      CHECK(box.y + box.height <= figure.height);
      cells += box.tip.empty() ? 0 : 1;
    }
    CHECK(cells == dp * pp);
    for (const FigureText& text : figure.texts) {
      if (text.direction == FigureText::Direction::kUp) continue;
      const int width = text_width(text.text, text.size);
      const int left = text.anchor == Anchor::kStart ? text.x
                       : text.anchor == Anchor::kEnd ? text.x - width
                                                     : text.x - width / 2;
      CHECK_MESSAGE(left >= 0, text.text);
      CHECK_MESSAGE(left + width <= figure.width, text.text);
    }
    const FigureBox first = cell_of(figure, "dp 0, stage 0:");
    if (dp > 1) {
      const FigureBox below = cell_of(figure, "dp 1, stage 0:");
      CHECK(below.y >= first.y + first.height);
      CHECK(below.y <= first.y + first.height + 1);
    }
  }
}

TEST_CASE("heat map figure: tick labels thin out to powers of two") {
  std::vector<std::string> ranks;
  for (const FigureText& text : lay_out(uniform(512, 1)).texts) {
    if (text.anchor == Anchor::kEnd) ranks.push_back(text.text);
  }
  // Rows of 1024 / 512 = 2 pixels, labels 24 pixels apart or more: every 16th.
  REQUIRE(ranks.size() == 32);
  CHECK(ranks[1] == "16");
}

TEST_CASE("heat map SVG: every cell tells its worker and slowdown, also below 1") {
  Heatmap heatmap = uniform(2, 2);
  heatmap.slowdown = {1, 0.9876, 1.5, 1.97};
  const std::string svg = heatmap_svg(heatmap);
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("<title>dp 0, stage 1: 0.9876</title>") != std::string::npos);
  CHECK(svg.find("<title>dp 1, stage 1: 1.97</title>") != std::string::npos);
  CHECK(svg.find(">0.99</text>") != std::string::npos);
  CHECK(svg.find(">pipeline stage</text>") != std::string::npos);
  CHECK(svg.find(">data-parallel rank</text>") != std::string::npos);
  CHECK(svg.find(">slowdown</text>") != std::string::npos);
  // 0.9876 has the colour of 1. Light end: a cell each, and nothing else exactly.
  CHECK(count(svg, "<path fill=\"#fde725\"") == 2);
}

TEST_CASE("heat map SVG: a title is text, whatever is in it") {
  Heatmap heatmap = uniform(1, 1);
  heatmap.title = "a <b> & \"c\"\n\x01";
  const std::string svg = heatmap_svg(heatmap);
  CHECK(svg.find("<title>a &lt;b&gt; &amp; \"c\"</title>") != std::string::npos);
  CHECK(svg.find("<b>") == std::string::npos);
  CHECK(svg.find('\x01') == std::string::npos);
}

TEST_CASE("heat map SVG: numbers are left out of cells that are too small for them") {
  CHECK(count(heatmap_svg(uniform(64, 8)), ">1.00</text>") == 64 * 8 + 1);  // and a tick
  CHECK(count(heatmap_svg(uniform(512, 8)), ">1.00</text>") == 1);
}

TEST_CASE("heat map PNG: the picture of the SVG in twice as many pixels") {
  Heatmap heatmap = uniform(3, 5);
  heatmap.slowdown[7] = 1.5;
  heatmap.slowdown[9] = std::numeric_limits<double>::quiet_NaN();
  const Figure figure = lay_out(heatmap);
  const auto bytes = heatmap_png(heatmap);
  REQUIRE(bytes.has_value());
  const Picture picture = decode(*bytes);
  CHECK(picture.image.width == 2 * static_cast<unsigned>(figure.width));
  CHECK(picture.image.height == 2 * static_cast<unsigned>(figure.height));
  CHECK(picture.at(0, 0) == Rgb{255, 255, 255});
  // 1.5 is the top of its scale. The upper left corner of a cell is free of its number.
  for (const auto& [tip, colour] : {std::pair<std::string, Rgb>{"dp 0, stage 0:", ramp_colour(0)},
                                    {"dp 1, stage 2:", ramp_colour(1)},
                                    {"dp 1, stage 4:", Rgb{205, 205, 205}}}) {
    const FigureBox cell = cell_of(figure, tip);
    CHECK(picture.at(2 * cell.x, 2 * cell.y) == colour);
    CHECK(picture.at(2 * (cell.x + cell.width) - 1, 2 * (cell.y + cell.height) - 1) == colour);
  }
}

TEST_CASE("heat map PNG: text is drawn with the bitmap font") {
  const Heatmap heatmap = uniform(1, 1);
  const Figure figure = lay_out(heatmap);
  const auto bytes = heatmap_png(heatmap);
  REQUIRE(bytes.has_value());
  const Picture picture = decode(*bytes);
  const FigureText& title = figure.texts.front();
  REQUIRE(title.text == "Slowdown by worker");
  // Dots of 3 pixels; the 7 rows of a capital are centred on the line's y.
  const int top = 2 * title.y - 7 * 3 / 2;
  int wrong = 0;
  for (std::size_t row = 0; row < bitmap_font::kHeight; ++row) {
    for (std::size_t column = 0; column < bitmap_font::kWidth; ++column) {
      const Rgb pixel =
          picture.at(2 * title.x + 3 * static_cast<int>(column) + 1, top + 3 * static_cast<int>(row) + 1);
      const bool is_ink = pixel == title.colour;
      wrong += is_ink != bitmap_font::has_ink('S', column, row) ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("bitmap font: all letters differ, and what is no ASCII is a question mark") {
  const auto shape = [](char letter) {
    std::string dots;
    for (std::size_t row = 0; row < bitmap_font::kHeight; ++row) {
      for (std::size_t column = 0; column < bitmap_font::kWidth; ++column) {
        dots += bitmap_font::has_ink(letter, column, row) ? '#' : '.';
      }
    }
    return dots;
  };
  for (char a = ' '; a < '~'; ++a) {
    for (char b = static_cast<char>(a + 1); b <= '~'; ++b) CHECK_MESSAGE(shape(a) != shape(b), a << b);
  }
  CHECK(shape('\xc3') == shape('?'));
  CHECK(shape('\n') == shape('?'));
}

TEST_CASE("heat map: the name of the file decides what is written") {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string path = (folder / ("goodput_heatmap_test_" + std::to_string(getpid()))).string();
  const auto write = [&](const std::string& final_path) {
    const Status status = write_heatmap(uniform(2, 2), path, final_path);
    REQUIRE(status.has_value());
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    std::filesystem::remove(path);
    return bytes.str();
  };
  CHECK(write("map.svg") == heatmap_svg(uniform(2, 2)));
  CHECK(write("map.png") == *heatmap_png(uniform(2, 2)));
  const Status status = write_heatmap(uniform(2, 2), path, "map.pdf");
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().message() == "map.pdf: the name of a heat map file must end in .svg or .png");
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("heat map: the worst worker is the first of the slowest, and never an unknown one") {
  Heatmap heatmap = uniform(2, 2, std::numeric_limits<double>::quiet_NaN());
  CHECK(worst_worker(heatmap).slowdown == 1);
  heatmap.slowdown[1] = 0.9;
  CHECK(worst_worker(heatmap).slowdown == 0.9);
  heatmap.slowdown[2] = heatmap.slowdown[3] = 1.2;
  const WorstWorker worst = worst_worker(heatmap);
  CHECK(worst.dp_rank == 1);
  CHECK(worst.stage == 0);
  CHECK(worst.slowdown == 1.2);
}

}  // namespace goodput
