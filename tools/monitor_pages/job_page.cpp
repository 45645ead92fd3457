#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/text.h"
#include "tools/monitor_pages/incident_parts.h"
#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/monitor_topics.h"
#include "tools/monitor_pages/page_content.h"
#include "tools/monitor_pages/page_frame.h"
#include "tools/monitor_pages/page_parts.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/page_values.h"
#include "tools/monitor_pages/shown_job.h"
#include "tools/monitor_pages/slowdown_chart.h"
#include "tools/monitor_pages/worker_map.h"

namespace goodput {
namespace {

// ---- S of a job over time with its incidents, as a section of its page.

constexpr std::size_t kUsualSpan = 300;

using ColumnKind = HtmlColumn::Kind;

constexpr std::array<std::size_t, 4> kSpans = {kUsualSpan, 3000, 30'000, 3'000'000};
constexpr std::size_t kMostDrawn = 400;
constexpr std::size_t kNewestRead = 3000;  // of longer spans the store tells groups

// When a step was, as far as anything tells.
double moment_of(const StepTotals& step) {
  if (step.began_s > 0) return step.began_s;
  return step.received_s > 0 ? step.received_s : step.finished_s;
}

Result<std::vector<StepTotals>> read_span(PageContext& context, const ShownJob& job, std::size_t steps) {
  StepQuery query;
  query.most = steps;
  query.newest_first = steps <= kNewestRead;
  if (!query.newest_first) {
    query.most = kMostDrawn;
    const StepId last = job.info.latest->id;
    if (steps < kSpans.back()) query.from = StepId{last.run, last.step - static_cast<std::int64_t>(steps)};
  }
  GOODPUT_TRY(std::vector<StepTotals> totals, context.store.steps(job.info.name, query));
  std::ranges::sort(totals, {}, &StepTotals::id);
  return totals;
}

std::string step_name(const StepTotals& step) {
  return step.id.run == 0 ? fmt::format("step {}", step.id.step)
                          : fmt::format("step {} (run {})", step.id.step, step.id.run);
}

SlowdownChart::Point point_of(std::string_view job, const StepTotals& step) {
  SlowdownChart::Point point;
  point.at_s = moment_of(step);
  point.step = step.id.step;
  point.slowdown = step.slowdown;
  point.link = step_link(job, step.id);
  point.tip = fmt::format("{}: {}{}{}", step_name(step), slowdown_text(step.slowdown),
                          step.cause.empty() ? "" : ", ", step.cause);
  return point;
}

// Of more steps than are drawn, groups of neighbours are told by their slowest.
SlowdownChart chart_of(std::string_view job, std::span<const StepTotals> steps) {
  SlowdownChart chart;
  const std::size_t group = (steps.size() + kMostDrawn - 1) / kMostDrawn;
  for (std::size_t first = 0; first < steps.size(); first += group) {
    const auto part = steps.subspan(first, std::min(group, steps.size() - first));
    const StepTotals* worst = nullptr;
    const StepTotals* not_whole = nullptr;
    for (const StepTotals& step : part) {
      if (step.status == StepStatus::kAnalysed && (worst == nullptr || step.slowdown > worst->slowdown))
        worst = &step;
      if (step.status == StepStatus::kIncomplete || step.status == StepStatus::kRefused) not_whole = &step;
    }
    if (worst != nullptr) {
      if (!(worst->began_s > 0)) chart.x_axis = SlowdownChart::XAxis::kStep;
      chart.points.push_back(point_of(job, *worst));
      const std::size_t points = chart.points.size();
      // Clocks that jumped back must not turn the line round.
      if (points > 1)
        chart.points.back().at_s = std::max(chart.points[points - 2].at_s, chart.points.back().at_s);
      chart.points.back().begins_run = first > 0 && steps[first - 1].id.run != worst->id.run;
    }
    if (not_whole != nullptr) {
      chart.marks.push_back({moment_of(*not_whole),
                             fmt::format("{}: {}", step_name(*not_whole),
                                         kStepStatuses[static_cast<std::size_t>(not_whole->status)]),
                             step_link(job, not_whole->id)});
    }
  }
  return chart;
}

void add_incidents(std::span<const Incident> incidents, SlowdownChart& chart) {
  if (chart.points.empty()) return;
  const double begin_s = chart.points.front().at_s;
  const double end_s = chart.points.back().at_s;
  for (const Incident& incident : incidents) {
    const double closed_s = incident.closed_s.value_or(std::numeric_limits<double>::infinity());
    if (closed_s < begin_s || incident.opened_s > end_s) continue;
    chart.spans.push_back({std::max(incident.opened_s, begin_s), std::min(closed_s, end_s),
                           incident_sentence(incident), incident_link(incident.key)});
  }
}

std::string steps_table(std::string_view job, std::span<const StepTotals> steps) {
  constexpr std::size_t kShown = 20;
  HtmlTable table("Newest steps", {{"step"},
                                   {"started"},
                                   {"state"},
                                   {"S", ColumnKind::kNumber},
                                   {"waste", ColumnKind::kNumber},
                                   {"step time", ColumnKind::kNumber},
                                   {"ideal", ColumnKind::kNumber},
                                   {"likely cause"},
                                   {"gain", ColumnKind::kNumber}});
  for (std::size_t i = 0; i < std::min(kShown, steps.size()); ++i) {
    const StepTotals& step = steps[steps.size() - 1 - i];
    const bool is_analysed = step.status == StepStatus::kAnalysed;
    const auto if_analysed = [&](const std::string& text) { return is_analysed ? text : "–"; };
    table.add_row({link_html(step_link(job, step.id), step_name(step)), time_html(moment_of(step)),
                   std::string(kStepStatuses[static_cast<std::size_t>(step.status)]),
                   if_analysed(slowdown_text(step.slowdown)), if_analysed(share_text(step.waste())),
                   if_analysed(seconds_text(step.recorded_s)), if_analysed(seconds_text(step.ideal_s)),
                   step.cause.empty() ? "–" : html_name(step.cause),
                   step.cause.empty() ? "–" : slowdown_text(step.gain)});
  }
  return table.html();
}

std::string span_links(std::string_view job, std::size_t shown) {
  std::string html = "<p class=\"spans\">Steps: ";
  for (const std::size_t span : kSpans) {
    const std::string text =
        span == kSpans.back() ? "all stored" : "last " + count_text(static_cast<std::int64_t>(span));
    html += span == shown ? fmt::format("<strong aria-current=\"true\">{}</strong> ", text)
                          : link_html(fmt::format("{}?span={}#series", job_link(job), span), text) + " ";
  }
  return html + "</p>";
}

// One of the spans that there are: what is asked for, or kUsualSpan.
std::size_t span_of(std::string_view asked) {
  const std::optional<std::int64_t> steps = parse_integer(asked);
  const auto* found = std::ranges::find_if(
      kSpans, [&](std::size_t span) { return steps && static_cast<std::int64_t>(span) == *steps; });
  return found == kSpans.end() ? kUsualSpan : *found;
}

// The last `steps` steps: the picture, links to shorter and longer spans, and the newest steps as a table.
Result<std::string> job_series_html(PageContext& context, const ShownJob& job,
                                    std::span<const Incident> incidents, std::size_t steps) {
  if (!job.info.latest) return paragraph("", "No step yet.");
  GOODPUT_TRY(const std::vector<StepTotals> totals, read_span(context, job, steps));
  SlowdownChart chart = chart_of(job.info.name, totals);
  chart.title = fmt::format("Slowdown S of {} by step", job.info.name);
  add_incidents(incidents, chart);
  const std::string svg = slowdown_chart_svg(chart);
  std::string html = span_links(job.info.name, steps);
  html += svg.empty() ? paragraph("", "None of these steps was analyzed.")
                      : scroll_box("drawing series", "Slowdown by step", svg);
  html += paragraph(
      "note",
      "Shaded: an incident was open. Triangle: a step was incomplete or refused. Dashed line: the job "
      "restarted. If there are many steps, each point is the slowest of several neighboring steps.");
  // Of a long span the newest steps are not all there.
  StepQuery newest;
  newest.most = 20;
  newest.newest_first = true;
  GOODPUT_TRY(std::vector<StepTotals> last, context.store.steps(job.info.name, newest));
  std::ranges::sort(last, {}, &StepTotals::id);
  return html + "<details class=\"numbers\"><summary>Newest steps as a table</summary>" +
         steps_table(job.info.name, last) + "</details>";
}

// ---- The page.

constexpr double kWorthFixing = 1.01;  // of S: below it nothing is lost that could be told from noise

// What follows the name of the job.
std::string job_verdict(const PageContext& context, const ShownJob& job, std::span<const Incident> open) {
  if (job.urgent_incidents() > 0) return " needs attention: " + open_incidents_text(open, context.now_s);
  if (job.window.empty()) return fmt::format(": {}", condition_text(job.condition));
  const std::vector<WindowCause> causes = causes_of(job);
  if (job.slowdown < kWorthFixing) return " does not lose time to stragglers";
  return fmt::format(" loses {} of its time to stragglers; {}", share_text(job.waste),
                     causes.empty() ? "no likely cause was found" : "likely cause: " + causes.front().name);
}

// The same as of an incident, of a cause that no rule watches.
std::string cause_card_html(const ShownJob& job, const WindowCause& cause) {
  std::string machine = "no single machine";
  if (!cause.suspects.empty())
    machine = worker_html(job.info.name, cause.suspects.front());
  else if (cause.latest.stage)
    machine = fmt::format("stage {}", *cause.latest.stage);
  const std::vector<PageFigure> figures = {
      {"Where", machine, ""},
      {"Seen", fmt::format("in {} of {} steps", cause.likely_in, cause.of),
       "latest: " + link_html(step_link(job.info.name, cause.latest_step),
                              fmt::format("step {}", cause.latest_step.step))},
      {"Cost", cost_text(job.lost_s, job.usd_per_day), "gain if fixed " + slowdown_text(*cause.gain)},
      {"Check next", html_text(cause.latest.next_check.empty() ? "the worker map" : cause.latest.next_check),
       ""}};
  return fmt::format("<div class=\"incident-card\">\n<h3>Likely cause: {}</h3>\n{}</div>\n",
                     html_name(cause.name), figures_html(figures));
}

std::string attention_html(const PageContext& context, const ShownJob& job, std::span<const Incident> open) {
  constexpr std::size_t kShown = 3;
  std::string html;
  for (std::size_t i = 0; i < std::min(open.size(), kShown); ++i)
    html += incident_card_html(context, open[i], 3);
  if (open.size() > kShown)
    html += paragraph("", link_html("#incidents", fmt::format("All {} open incidents", open.size())));
  if (html.empty() && job.slowdown >= kWorthFixing) {
    const std::vector<WindowCause> causes = causes_of(job);
    if (!causes.empty()) html = cause_card_html(job, causes.front());
  }
  return html;
}

Result<std::vector<PageFigure>> job_figures(PageContext& context, const ShownJob& job) {
  std::vector<PageFigure> figures;
  const std::size_t window = job.window.size();
  if (const StepDigest* latest = job.latest()) {
    const StepTotals& totals = latest->totals;
    figures.push_back({"S now", slowdown_text(totals.slowdown),
                       fmt::format("mean: {1} (analyzed steps: {0})", window, slowdown_text(job.slowdown))});
    figures.push_back({"Waste", share_text(job.waste), fmt::format("mean (analyzed steps: {})", window)});
    figures.push_back({"Cost", cost_text(job.lost_s, job.usd_per_day),
                       fmt::format("{:.1f} GPU-hours per day on {} GPUs", job.gpu_hours_per_day,
                                   count_text(latest->gpus))});
    figures.push_back(
        {"Step time", seconds_text(totals.recorded_s), "ideal " + seconds_text(totals.ideal_s)});
    figures.push_back(
        {"Late launches", slowdown_text(totals.launch_slowdown), "recorded time divided by replayed time"});
    GOODPUT_TRY(const SlowdownShape shape, window_shape(context, job));
    figures.push_back({"Pattern", std::string(shape_text(shape)), fmt::format("analyzed steps: {}", window)});
  }
  if (job.status) {
    if (job.status->lag_s)
      figures.push_back(
          {"Lag", seconds_text(*job.status->lag_s), "from the last row of a step to its result"});
    figures.push_back({"Last row", ago_text(job.status->last_row_s, context.now_s),
                       fmt::format("{} not read yet", bytes_text(job.status->unread_bytes))});
  }
  return figures;
}

std::string counts_html(const ShownJob& job) {
  const JobInfo& info = job.info;
  std::string text = fmt::format("Steps: {} analyzed, {} incomplete, {} refused, {} skipped; runs: {}",
                                 count_text(info.analysed), count_text(info.incomplete),
                                 count_text(info.refused), count_text(info.skipped), info.runs);
  if (job.status) {
    text += fmt::format("; bad lines: {}; late rows: {}",
                        count_text(static_cast<std::int64_t>(job.status->bad_lines)),
                        count_text(static_cast<std::int64_t>(job.status->late_rows)));
  }
  std::string html = paragraph("note", text + ".");
  if (job.status && !job.status->last_bad_line.empty())
    html += paragraph("note", "Last bad line: " + html_name(job.status->last_bad_line));
  return html;
}

Result<std::string> latest_map_html(PageContext& context, const ShownJob& job) {
  if (job.latest() == nullptr) return paragraph("", "No step has been analyzed yet.");
  const StepId id = job.latest()->totals.id;
  GOODPUT_TRY(const std::optional<StepResult> step, context.store.step(job.info.name, id));
  if (!step) return paragraph("", "The latest step is no longer stored.");
  GOODPUT_TRY(const std::optional<ShownMap> map, find_map(context, job.info.name, *step));
  if (!map) return paragraph("", "No worker map is stored.");
  return paragraph("", link_html(step_link(job.info.name, map->id), fmt::format("Step {}", map->id.step)) +
                           ": " + std::string(shape_text(step->totals.shape)) + ".") +
         map_html(context, job.info.name, *map);
}

std::string trouble_html(const ShownJob& job) {
  std::string html;
  if (job.condition != JobCondition::kRunning)
    html += paragraph("problem", fmt::format("State: {}.", condition_text(job.condition)));
  if (job.info.latest && job.info.latest->status != StepStatus::kAnalysed) {
    html += paragraph("problem",
                      link_html(step_link(job.info.name, job.info.latest->id),
                                fmt::format("Step {}", job.info.latest->id.step)) +
                          fmt::format(" was not analyzed: {}.",
                                      kStepStatuses[static_cast<std::size_t>(job.info.latest->status)]));
  }
  return html;
}

}  // namespace

Result<HttpResponse> job_page(PageContext& context, const PageRoute& route, const HttpRequest& request) {
  GOODPUT_TRY(const std::optional<ShownJob> job, view_job(context, route.job));
  if (!job) return error_page(404, "There is no job with this name.");
  GOODPUT_TRY(std::vector<Incident> open, context.store.incidents(route.job, true, 100));
  put_urgent_first(open, context.now_s);
  GOODPUT_TRY(const std::vector<Incident> incidents, context.store.incidents(route.job, false, 50));
  GOODPUT_TRY(const std::string series,
              job_series_html(context, *job, incidents, span_of(request.parameter("span"))));
  GOODPUT_TRY(const std::string map, latest_map_html(context, *job));
  GOODPUT_TRY(const std::vector<PageFigure> figures, job_figures(context, *job));
  const StepDigest* latest = job->latest();

  PageFrame frame;
  frame.title = route.job + job_verdict(context, *job, open);
  frame.trail = {{"Jobs", "/"}};
  frame.topic = job_topic(route.job);
  frame.main_html =
      fmt::format("<div id=\"verdict\" data-live><h1>{}{}</h1>\n{}{}{}\n{}</div>\n", html_name(route.job),
                  html_text(job_verdict(context, *job, open)), trouble_html(*job),
                  attention_html(context, *job, open), figures_html(figures), counts_html(*job));
  frame.main_html += section_html("series", "Slowdown S over time", Renewal::kLive, series);
  frame.main_html += section_html("map", "Latest worker map", Renewal::kLive, map);
  frame.main_html +=
      section_html("causes", fmt::format("Causes in the last {} analyzed steps", job->window.size()),
                   Renewal::kLive, window_causes_html(*job));
  if (latest != nullptr)
    frame.main_html += section_html("parts", "Where the latest step loses time", Renewal::kLive,
                                    parts_html(latest->by_stage, latest->by_optype));
  frame.main_html +=
      section_html("incidents", "Incidents", Renewal::kLive,
                   incidents.empty() ? paragraph("", "No incidents.")
                                     : incident_table_html(context, "Incidents of this job", incidents));
  return whole_page(context, frame);
}

}  // namespace goodput
