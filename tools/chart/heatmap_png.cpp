#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tools/chart/bitmap_font.h"
#include "tools/chart/heatmap.h"
#include "tools/chart/heatmap_figure.h"

namespace goodput {
namespace {

constexpr int kPixelsPerUnit = 2;
constexpr std::size_t kLargestPicture = std::size_t{1} << 30;  // bytes; beyond, nobody looks at pixels

int pixels_per_dot(const FigureText& text) {
  return text.size >= kTitleSize ? 3 : 2;
}

// Bytes that begin a letter: of a letter that is no ASCII, the others are left out.
bool begins_letter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

class Canvas {
 public:
  Canvas(int width, int height) : width_(width), height_(height) {
    pixels_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  }

  // What lies outside is cut off.
  void fill(int x, int y, int width, int height, Rgb colour) {
    const int right = std::min(x + width, width_);
    const int left = std::clamp(x, 0, width_);
    for (int row = std::max(y, 0); row < std::min(y + height, height_); ++row) {
      const auto begin = pixels_.begin() + static_cast<std::ptrdiff_t>(row) * width_;
      if (left < right) std::fill(begin + left, begin + right, colour);
    }
  }

  void write(const FigureText& text) {
    const int dot = pixels_per_dot(text);
    int letters = 0;
    for (const char c : text.text) letters += begins_letter(c) ? 1 : 0;
    const int length = (letters * static_cast<int>(bitmap_font::kAdvance) - 1) * dot;
    int along = text.anchor == Anchor::kStart ? 0 : text.anchor == Anchor::kMiddle ? -length / 2 : -length;
    for (const char c : text.text) {
      if (!begins_letter(c)) continue;
      write_letter(c, text, along, dot);
      along += static_cast<int>(bitmap_font::kAdvance) * dot;
    }
  }

  [[nodiscard]] const Rgb* data() const { return pixels_.data(); }

 private:
  // `along`: from the anchored point, in the direction of the text.
  void write_letter(char letter, const FigureText& text, int along, int dot) {
    const int above = static_cast<int>(bitmap_font::kAscent) * dot / 2;
    for (std::size_t row = 0; row < bitmap_font::kHeight; ++row) {
      for (std::size_t column = 0; column < bitmap_font::kWidth; ++column) {
        if (!bitmap_font::has_ink(letter, column, row)) continue;
        const int across = along + static_cast<int>(column) * dot;
        const int down = static_cast<int>(row) * dot - above;
        const int x = text.x * kPixelsPerUnit;
        const int y = text.y * kPixelsPerUnit;
        if (text.direction == FigureText::Direction::kAcross) {
          fill(x + across, y + down, dot, dot, text.colour);
        } else {
          fill(x + down, y - across - dot, dot, dot, text.colour);
        }
      }
    }
  }

  int width_;
  int height_;
  std::vector<Rgb> pixels_;
};
static_assert(sizeof(Rgb) == 3, "pixels must have no padding, because libpng reads them as raw bytes");

Result<std::string> encode(const Canvas& canvas, int width, int height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, canvas.data(), 0, nullptr) == 0) {
    return Error{fmt::format("cannot draw the heat map as PNG: {}", image.message)};
  }
  bytes.resize(size);
  return bytes;
}

// `what`: is too large, if it is.
Result<std::string> png_of(const Figure& figure, const std::string& what) {
  const int width = figure.width * kPixelsPerUnit;
  const int height = figure.height * kPixelsPerUnit;
  if (static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * sizeof(Rgb) > kLargestPicture) {
    return Error{fmt::format("{} are too many for a PNG heat map; use .svg", what)};
  }
  Canvas canvas(width, height);
  for (const FigureBox& box : figure.boxes) {
    canvas.fill(box.x * kPixelsPerUnit, box.y * kPixelsPerUnit, box.width * kPixelsPerUnit,
                box.height * kPixelsPerUnit, box.colour);
  }
  for (const FigureText& text : figure.texts) canvas.write(text);
  return encode(canvas, width, height);
}

}  // namespace

Result<std::string> heatmap_png(const Heatmap& heatmap) {
  return png_of(lay_out(heatmap), fmt::format("{} x {} workers", heatmap.dp, heatmap.pp));
}

Result<std::string> heatmap_png(const HeatmapStrip& strip) {
  return png_of(lay_out(strip),
                fmt::format("{} maps of {} x {} workers", strip.panels.size(), strip.dp, strip.pp));
}

}  // namespace goodput
