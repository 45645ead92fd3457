#include "tools/monitor_pages/worker_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/live/slowdown_shape.h"
#include "tools/chart/heatmap.h"
#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/page_frame.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/page_values.h"

namespace goodput {
namespace {

constexpr std::size_t kMostRows = 32;  // replicas that are shown one below the other

bool is_finite(double value) {
  return std::isfinite(value);
}

// As of describe(), without what a map says by itself.
std::string worker_note(const WorkerPlace& worker) {
  std::string note;
  if (worker.rank >= 0) note = fmt::format("rank {}", worker.rank);
  if (!worker.host.empty()) note += (note.empty() ? "" : ", ") + visible_text(worker.host);
  return note;
}

std::string map_svg(const ShownMap& map) {
  Heatmap heatmap;
  heatmap.title = fmt::format("Slowdown that each worker alone causes, step {}", map.id.step);
  heatmap.dp = static_cast<std::size_t>(map.layout.dp_size);
  heatmap.pp = static_cast<std::size_t>(map.layout.pp_size);
  heatmap.slowdown = map.slowdown;
  // Screens are wider than high.
  if (heatmap.dp > heatmap.pp && heatmap.dp > kMostRows) heatmap.axes = HeatmapAxes::kReplicasAcross;
  for (std::size_t worker = 0; worker < map.slowdown.size(); ++worker)
    heatmap.worker_notes.push_back(worker_note(place_of(map.layout, worker)));
  return heatmap_svg(heatmap);
}

std::string slowest_html(std::string_view job, const ShownMap& map) {
  constexpr std::size_t kShown = 8;
  HtmlTable table("Workers that cost the most time", {{"worker"}, {"slowdown", HtmlColumn::Kind::kNumber}});
  for (const std::size_t worker : slowest_workers(map.slowdown, kShown))
    table.add_row({worker_html(job, place_of(map.layout, worker)), slowdown_text(map.slowdown[worker])});
  return table.html();
}

}  // namespace

std::vector<std::size_t> slowest_workers(const std::vector<double>& slowdown, std::size_t most) {
  std::vector<std::size_t> workers;
  for (std::size_t worker = 0; worker < slowdown.size(); ++worker) {
    if (std::isfinite(slowdown[worker])) workers.push_back(worker);
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(most, workers.size()));
  std::partial_sort(
      workers.begin(), workers.begin() + shown, workers.end(),
      [&](std::size_t a, std::size_t b) { return std::pair(-slowdown[a], a) < std::pair(-slowdown[b], b); });
  workers.resize(static_cast<std::size_t>(shown));
  return workers;
}

Result<std::optional<ShownMap>> find_map(PageContext& context, std::string_view job, const StepResult& step) {
  const StepId id = step.totals.id;
  if (!step.worker_slowdown.empty() && step.worker_slowdown.size() == step.layout.workers()) {
    return std::optional<ShownMap>(ShownMap{id, step.layout, step.worker_slowdown});
  }
  GOODPUT_TRY(std::optional<WorkerMap> map, context.store.map(job, id));
  if (!map) return std::optional<ShownMap>{};
  ShownMap shown{map->id, step.layout, std::move(map->slowdown)};
  if (map->id != id) {
    // Another step may have had its workers at other places.
    GOODPUT_TRY(const std::optional<StepResult> owner, context.store.step(job, map->id));
    if (owner) shown.layout = owner->layout;
  }
  if (shown.layout.dp_size != map->dp_size || shown.layout.pp_size != map->pp_size) {
    shown.layout = JobLayout{};
    shown.layout.dp_size = map->dp_size;
    shown.layout.pp_size = map->pp_size;
  }
  if (shown.slowdown.size() != shown.layout.workers()) return std::optional<ShownMap>{};
  return std::optional<ShownMap>{std::move(shown)};
}

Result<SlowdownShape> window_shape(PageContext& context, const ShownJob& job) {
  const StepDigest& latest = *job.latest();
  std::vector<std::vector<double>> maps;
  double slowdowns = 0;
  for (const StepDigest& step : job.window) {
    if (step.dp_size != latest.dp_size || step.pp_size != latest.pp_size) continue;
    GOODPUT_TRY(std::optional<WorkerMap> map, context.store.map(job.info.name, step.totals.id));
    if (!map || map->id != step.totals.id || !std::ranges::all_of(map->slowdown, is_finite)) continue;
    maps.push_back(std::move(map->slowdown));
    slowdowns += step.totals.slowdown;
  }
  if (maps.empty()) return latest.totals.shape;
  return slowdown_shape_over(maps, latest.dp_size, latest.pp_size,
                             slowdowns / static_cast<double>(maps.size()));
}

Result<std::vector<WorkerPoint>> read_history(PageContext& context, std::string_view job,
                                              const JobLayout& layout, std::size_t worker,
                                              const StepQuery& query) {
  GOODPUT_TRY(std::vector<WorkerPoint> history, context.store.worker_history(job, worker, query));
  std::map<std::int32_t, bool> is_alike;  // by run
  for (const WorkerPoint& point : history) {
    if (is_alike.contains(point.id.run)) continue;
    GOODPUT_TRY(const std::optional<StepResult> step, context.store.step(job, point.id));
    is_alike[point.id.run] =
        step && step->layout.dp_size == layout.dp_size && step->layout.pp_size == layout.pp_size;
  }
  std::erase_if(history, [&](const WorkerPoint& point) { return !is_alike[point.id.run]; });
  return history;
}

std::string map_html(PageContext& context, std::string_view job, const ShownMap& map) {
  const std::pair<std::string, StepId> key(job, map.id);
  std::optional<std::string> svg = context.cache.maps.find(key);
  if (!svg) {
    svg = map_svg(map);
    context.cache.maps.add(key, *svg);
  }
  return fmt::format(
      "<div class=\"map-row\">\n<div class=\"map-box\" "
      "data-workers=\"{}/workers/\">{}</div>\n<div>{}</div>\n</div>",
      job_link(job), scroll_box("map", "Worker map", *svg), slowest_html(job, map));
}

}  // namespace goodput
