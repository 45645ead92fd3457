#include "tools/chart/heatmap.h"

#include <fmt/format.h>

#include <cmath>

#include "traces/io/byte_sink.h"

namespace goodput {

WorstWorker worst_worker(const Heatmap& heatmap) {
  WorstWorker worst;
  bool found = false;
  for (std::size_t dp_rank = 0; dp_rank < heatmap.dp; ++dp_rank) {
    for (std::size_t stage = 0; stage < heatmap.pp; ++stage) {
      const double slowdown = heatmap.at(dp_rank, stage);
      // A NaN compares false and is never the worst.
      if (found ? slowdown > worst.slowdown : !std::isnan(slowdown)) {
        worst = {dp_rank, stage, slowdown};
        found = true;
      }
    }
  }
  return worst;
}

Status check_heatmap_path(std::string_view final_path) {
  if (final_path.ends_with(".svg") || final_path.ends_with(".png")) return Ok{};
  return Error{"the name of a heat map file must end in .svg or .png", {.file = std::string(final_path)}};
}

namespace {

template <typename Picture>
Status write_picture(const Picture& of, const std::string& path, std::string_view final_path) {
  GOODPUT_TRY_STATUS(check_heatmap_path(final_path));
  Result<std::string> picture =
      final_path.ends_with(".svg") ? Result<std::string>(heatmap_svg(of)) : heatmap_png(of);
  GOODPUT_TRY(const std::string bytes, std::move(picture));
  GOODPUT_TRY(auto sink, ByteSink::open(path, final_path));
  GOODPUT_TRY_STATUS(sink.write(bytes));
  return sink.close();
}

}  // namespace

Status write_heatmap(const Heatmap& heatmap, const std::string& path, std::string_view final_path) {
  return write_picture(heatmap, path, final_path);
}

Status write_heatmap(const HeatmapStrip& strip, const std::string& path, std::string_view final_path) {
  constexpr std::size_t kMostCells = 500'000;  // some 60 MB of SVG
  const std::size_t cells = strip.panels.size() * strip.dp * strip.pp;
  if (cells > kMostCells) {
    return Error{fmt::format("{} heat maps of {} x {} workers have too many cells to draw ({}; the limit is "
                             "{}); draw fewer steps",
                             strip.panels.size(), strip.dp, strip.pp, cells, kMostCells),
                 {.file = std::string(final_path)}};
  }
  return write_picture(strip, path, final_path);
}

}  // namespace goodput
