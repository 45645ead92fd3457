#include "tools/monitor_pages/job_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/base/text.h"
#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/page_frame.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/page_values.h"
#include "tools/monitor_pages/slowdown_chart.h"

namespace goodput {
namespace {

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

void add_alerts(std::span<const Alert> alerts, SlowdownChart& chart) {
  if (chart.points.empty()) return;
  const double begin_s = chart.points.front().at_s;
  const double end_s = chart.points.back().at_s;
  for (const Alert& alert : alerts) {
    const double closed_s = alert.closed_s.value_or(std::numeric_limits<double>::infinity());
    if (closed_s < begin_s || alert.opened_s > end_s) continue;
    chart.spans.push_back({std::max(alert.opened_s, begin_s), std::min(closed_s, end_s),
                           alert.rule + ": " + alert.summary, alert_link(alert.id)});
  }
}

std::string steps_table(std::string_view job, std::span<const StepTotals> steps) {
  constexpr std::size_t kShown = 20;
  HtmlTable table("Newest steps", {{"step"},
                                   {"began"},
                                   {"state"},
                                   {"S", ColumnKind::kNumber},
                                   {"waste", ColumnKind::kNumber},
                                   {"took", ColumnKind::kNumber},
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
        span == kSpans.back() ? "all that are kept" : "last " + count_text(static_cast<std::int64_t>(span));
    html += span == shown ? fmt::format("<strong aria-current=\"true\">{}</strong> ", text)
                          : link_html(fmt::format("{}?span={}#series", job_link(job), span), text) + " ";
  }
  return html + "</p>";
}

}  // namespace

std::size_t span_of(std::string_view asked) {
  const std::optional<std::int64_t> steps = parse_integer(asked);
  const auto* found = std::ranges::find_if(
      kSpans, [&](std::size_t span) { return steps && static_cast<std::int64_t>(span) == *steps; });
  return found == kSpans.end() ? kUsualSpan : *found;
}

Result<std::string> job_series_html(PageContext& context, const ShownJob& job, std::span<const Alert> alerts,
                                    std::size_t steps) {
  if (!job.info.latest) return paragraph("", "No step yet.");
  GOODPUT_TRY(const std::vector<StepTotals> totals, read_span(context, job, steps));
  SlowdownChart chart = chart_of(job.info.name, totals);
  chart.title = fmt::format("Slowdown S of the steps of {} over time", job.info.name);
  add_alerts(alerts, chart);
  const std::string svg = slowdown_chart_svg(chart);
  std::string html = span_links(job.info.name, steps);
  html += svg.empty() ? paragraph("", "None of these steps was analysed.")
                      : scroll_box("drawing series", "Slowdown over time", svg);
  html += paragraph(
      "note",
      "Shaded: an alert was open. Triangles: steps that are not whole or were refused. A dashed line: "
      "the job began anew. Of many steps the slowest of neighbours are drawn.");
  // Of a long span the newest steps are not all there.
  StepQuery newest;
  newest.most = 20;
  newest.newest_first = true;
  GOODPUT_TRY(std::vector<StepTotals> last, context.store.steps(job.info.name, newest));
  std::ranges::sort(last, {}, &StepTotals::id);
  return html + "<details class=\"numbers\"><summary>The newest steps as a table</summary>" +
         steps_table(job.info.name, last) + "</details>";
}

}  // namespace goodput
