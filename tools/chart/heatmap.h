// Heat maps of worker slowdowns: data-parallel ranks down and pipeline stages across, or the other way round.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

// Which way data-parallel ranks run; stages run the other way. Pictures only: text has ranks down.
enum class HeatmapAxes {
  kReplicasDown,
  kReplicasAcross,
};

struct Heatmap {
  std::string title;
  std::string subtitle;  // a second, smaller line; may be empty
  std::size_t dp = 1;
  std::size_t pp = 1;
  std::vector<double> slowdown;  // of worker (dp rank, stage) at dp_rank * pp + stage; NaN: not known
  std::vector<std::string> worker_notes{};  // shown after a worker's place when pointed at; may be empty
  HeatmapAxes axes = HeatmapAxes::kReplicasDown;

  [[nodiscard]] double at(std::size_t dp_rank, std::size_t stage) const {
    return slowdown[dp_rank * pp + stage];
  }
};

// Small heat maps of the same workers, one a step, with one scale of colours.
struct HeatmapStrip {
  struct Panel {
    std::string title;
    std::vector<double> slowdown;  // as of Heatmap
  };
  std::string title;
  std::string subtitle;
  std::size_t dp = 1;
  std::size_t pp = 1;
  std::vector<std::string> worker_notes{};
  HeatmapAxes axes = HeatmapAxes::kReplicasDown;
  std::vector<Panel> panels{};
};

// The worker that is slowed down most, the first of several; nothing known: worker 0.
struct WorstWorker {
  std::size_t dp_rank = 0;
  std::size_t stage = 0;
  double slowdown = 1;
};
[[nodiscard]] WorstWorker worst_worker(const Heatmap& heatmap);

enum class TerminalColour {
  kNone,
  k256,
  k24Bit,
};

struct HeatmapTextOptions {
  TerminalColour colour = TerminalColour::kNone;
  std::size_t width = 100;     // more stages than fit go into further bands
  std::size_t most_rows = 32;  // of more dp ranks, those with the largest slowdowns are shown
  double marks_from = 1.01;    // a worst slowdown below it is not worth marking anybody for
};

// REQUIRES for all: dp, pp >= 1 and dp * pp slowdowns.
[[nodiscard]] std::string heatmap_text(const Heatmap& heatmap, const HeatmapTextOptions& options = {});

// A whole <svg> element, without ids or scripts: it may be a file or part of a page.
[[nodiscard]] std::string heatmap_svg(const Heatmap& heatmap);
[[nodiscard]] std::string heatmap_svg(const HeatmapStrip& strip);

// The same picture in twice as many pixels, as the bytes of a PNG file.
[[nodiscard]] Result<std::string> heatmap_png(const Heatmap& heatmap);
[[nodiscard]] Result<std::string> heatmap_png(const HeatmapStrip& strip);

// Whether a heat map can be written under this name: .svg or .png.
[[nodiscard]] Status check_heatmap_path(std::string_view final_path);

// Writes to `path` what `final_path`, the name it is going to have, asks for.
Status write_heatmap(const Heatmap& heatmap, const std::string& path, std::string_view final_path);
// Fails also when there are more cells than a viewer can show.
Status write_heatmap(const HeatmapStrip& strip, const std::string& path, std::string_view final_path);

}  // namespace goodput
