#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/monitor_pages/incident_parts.h"
#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/monitor_topics.h"
#include "tools/monitor_pages/page_content.h"
#include "tools/monitor_pages/page_frame.h"
#include "tools/monitor_pages/page_parts.h"
#include "tools/monitor_pages/page_values.h"
#include "tools/monitor_pages/slowdown_chart.h"
#include "tools/monitor_pages/worker_map.h"

namespace goodput {
namespace {

using ColumnKind = HtmlColumn::Kind;

std::string history_html(const std::string& job, const WorkerPlace& worker,
                         const std::vector<WorkerPoint>& history) {
  if (history.empty()) return paragraph("", "No stored worker map contains this worker.");
  SlowdownChart chart;
  chart.title = fmt::format("Slowdown that {} alone causes", describe(worker));
  for (const WorkerPoint& point : history) {
    if (!(point.began_s > 0)) chart.x_axis = SlowdownChart::XAxis::kStep;
    SlowdownChart::Point drawn{point.began_s,
                               point.id.step,
                               point.slowdown,
                               fmt::format("step {}: {}", point.id.step, slowdown_text(point.slowdown)),
                               step_link(job, point.id),
                               false};
    if (!chart.points.empty()) drawn.at_s = std::max(drawn.at_s, chart.points.back().at_s);
    chart.points.push_back(std::move(drawn));
  }
  for (std::size_t i = 1; i < history.size(); ++i)
    chart.points[i].begins_run = history[i].id.run != history[i - 1].id.run;
  const std::string svg = slowdown_chart_svg(chart);
  return svg.empty() ? paragraph("", "The slowdown of this worker is unknown.")
                     : scroll_box("drawing series", "Slowdown of the worker", svg);
}

std::string newest_html(const std::string& job, const std::vector<WorkerPoint>& history) {
  constexpr std::size_t kShown = 30;
  HtmlTable table("Newest steps of this worker",
                  {{"step"}, {"started"}, {"slowdown caused by this worker alone", ColumnKind::kNumber}});
  for (std::size_t i = 0; i < std::min(kShown, history.size()); ++i) {
    const WorkerPoint& point = history[history.size() - 1 - i];
    table.add_row({link_html(step_link(job, point.id), fmt::format("step {}", point.id.step)),
                   time_html(point.began_s), slowdown_text(point.slowdown)});
  }
  return table.html();
}

std::vector<PageFigure> worker_figures(const WorkerPlace& worker, const std::vector<WorkerPoint>& history) {
  std::vector<PageFigure> figures = {
      {"Rank", worker.rank >= 0 ? fmt::format("{}", worker.rank) : "unknown", ""},
      {"Host", worker.host.empty() ? "unknown" : html_name(worker.host), ""}};
  std::vector<double> known;
  for (const WorkerPoint& point : history) {
    if (std::isfinite(point.slowdown)) known.push_back(point.slowdown);
  }
  if (known.empty()) return figures;
  double sum = 0;
  for (const double slowdown : known) sum += slowdown;
  figures.push_back({"Slowdown now", slowdown_text(known.back()), "caused by this worker alone"});
  figures.push_back({"Mean", slowdown_text(sum / static_cast<double>(known.size())),
                     fmt::format("over {} steps", known.size())});
  figures.push_back({"Worst", slowdown_text(*std::ranges::max_element(known)), ""});
  return figures;
}

bool is_about(const Incident& incident, const WorkerPlace& place) {
  return std::ranges::any_of(incident.verdict.workers, [&place](const Verdict::Worker& worker) {
    return std::cmp_equal(worker.dp, place.dp_rank) && std::cmp_equal(worker.stage, place.stage);
  });
}

}  // namespace

Result<HttpResponse> worker_page(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::optional<ShownJob> job, view_job(context, route.job));
  if (!job) return error_page(404, "There is no job with this name.");
  if (job->latest() == nullptr) return error_page(404, "No step of this job has been analyzed yet.");
  GOODPUT_TRY(const std::optional<StepResult> step, context.store.step(route.job, job->latest()->totals.id));
  if (!step || route.dp_rank >= step->layout.dp_size || route.stage >= step->layout.pp_size)
    return error_page(404, "The job has no such worker.");
  const std::size_t index =
      static_cast<std::size_t>(route.dp_rank) * static_cast<std::size_t>(step->layout.pp_size) +
      static_cast<std::size_t>(route.stage);
  const WorkerPlace worker = place_of(step->layout, index);
  StepQuery query;
  query.most = 120;  // maps are to be unpacked for it, each whole
  GOODPUT_TRY(const std::vector<WorkerPoint> history,
              read_history(context, route.job, step->layout, index, query));
  GOODPUT_TRY(std::vector<Incident> incidents, context.store.incidents(route.job, false, 500));
  std::erase_if(incidents, [&worker](const Incident& incident) { return !is_about(incident, worker); });

  PageFrame frame;
  const std::string name = fmt::format("dp {} stage {}", worker.dp_rank, worker.stage);
  frame.title = fmt::format("{} of {}", name, route.job);
  frame.trail = {{"Jobs", "/"}, {route.job, job_link(route.job)}};
  frame.topic = job_topic(route.job);
  frame.main_html = fmt::format("<div id=\"verdict\" data-live><h1>Worker {} of {}</h1>\n{}</div>\n", name,
                                html_name(route.job), figures_html(worker_figures(worker, history)));
  frame.main_html += section_html("history", "Slowdown over time", Renewal::kLive,
                                  history_html(route.job, worker, history) + newest_html(route.job, history));
  frame.main_html +=
      section_html("incidents", "Incidents of this worker", Renewal::kLive,
                   incidents.empty() ? paragraph("", "No incidents.")
                                     : incident_table_html(context, "Incidents of this worker", incidents));
  return whole_page(context, frame);
}

}  // namespace goodput
