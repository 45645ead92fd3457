#include <fmt/format.h>

#include <algorithm>

#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/monitor_topics.h"
#include "tools/monitor_pages/page_content.h"
#include "tools/monitor_pages/page_frame.h"
#include "tools/monitor_pages/page_parts.h"
#include "tools/monitor_pages/page_values.h"

namespace goodput {
namespace {

using ColumnKind = HtmlColumn::Kind;

bool needs_attention(JobCondition condition) {
  return condition != JobCondition::kRunning && condition != JobCondition::kUnwatched &&
         condition != JobCondition::kWaiting;
}

std::string state_html(const ShownJob& job) {
  const std::string_view kind = needs_attention(job.condition)            ? "attention"
                                : job.condition == JobCondition::kRunning ? "fine"
                                                                          : "quiet";
  return fmt::format("<span class=\"state {}\">{}</span>", kind, condition_text(job.condition));
}

std::vector<std::string> job_cells(const ShownJob& job) {
  const JobInfo& info = job.info;
  const StepDigest* latest = job.latest();
  const std::string cost = latest == nullptr ? "–"
                           : job.usd_per_day ? usd_text(*job.usd_per_day) + " a day"
                                             : fmt::format("{:.1f} GPU-h a day", job.gpu_hours_per_day);
  const std::string last_step =
      info.latest ? link_html(step_link(info.name, info.latest->id), fmt::format("{}", info.latest->id.step))
                  : "–";
  const std::string alerts =
      info.open_alerts == 0 ? "0" : fmt::format("<strong class=\"attention\">{}</strong>", info.open_alerts);
  return {link_html(job_link(info.name), html_name(info.name)),
          state_html(job),
          alerts,
          latest == nullptr ? "–" : slowdown_text(latest->totals.slowdown),
          latest == nullptr ? "–" : share_text(job.waste),
          cost,
          latest == nullptr || latest->totals.cause.empty() ? "–" : html_name(latest->totals.cause),
          latest == nullptr ? "–" : worker_html(info.name, latest->worst),
          last_step,
          job.status && job.status->lag_s ? seconds_text(*job.status->lag_s) : "–"};
}

std::string jobs_table(const std::vector<ShownJob>& jobs, std::int32_t window) {
  if (jobs.empty()) return paragraph("", "No job yet: rows of none came in.");
  HtmlTable table("Jobs", {{"job"},
                           {"state"},
                           {"open alerts", ColumnKind::kNumber},
                           {"S now", ColumnKind::kNumber},
                           {"waste", ColumnKind::kNumber},
                           {"costs", ColumnKind::kNumber},
                           {"likely cause"},
                           {"worst worker", ColumnKind::kLong},
                           {"last step", ColumnKind::kNumber},
                           {"lag", ColumnKind::kNumber}});
  for (const ShownJob& job : jobs) table.add_row(job_cells(job));
  return table.html() +
         paragraph("note",
                   fmt::format("S: what the step takes over what it would take if nobody were slow. Waste "
                               "and costs: means over the last {} analysed steps.",
                               window));
}

// One line that says whether to read on.
std::string verdict_text(const std::vector<ShownJob>& jobs, const std::vector<Alert>& open) {
  const auto troubled = std::ranges::count_if(
      jobs, [](const ShownJob& job) { return job.info.open_alerts > 0 || needs_attention(job.condition); });
  if (jobs.empty()) return "Waiting for the first rows";
  if (troubled == 0)
    return fmt::format("{} job{}, none needs attention", jobs.size(), jobs.size() == 1 ? "" : "s");
  return fmt::format(
      "{} of {} job{} need{} attention{}", troubled, jobs.size(), jobs.size() == 1 ? "" : "s",
      troubled == 1 ? "s" : "",
      open.empty() ? "" : fmt::format(": {} open alert{}", open.size(), open.size() == 1 ? "" : "s"));
}

std::string problem_html(const MonitorState& state) {
  std::string html;
  if (!state.problem.empty())
    html += paragraph("problem",
                      "<strong>The monitor itself has a problem:</strong> " + html_text(state.problem));
  if (state.undelivered > 0)
    html += paragraph("problem", fmt::format("{} message{} about alerts could not be delivered yet.",
                                             state.undelivered, state.undelivered == 1 ? "" : "s"));
  return html;
}

}  // namespace

Result<HttpResponse> jobs_page(PageContext& context) {
  constexpr std::size_t kShownAlerts = 5;
  GOODPUT_TRY(const std::vector<ShownJob> jobs, view_jobs(context));
  GOODPUT_TRY(std::vector<Alert> open, context.store.alerts("", true, 1000));
  // What costs most comes first.
  std::ranges::stable_sort(open, [](const Alert& a, const Alert& b) {
    return a.usd_per_day.value_or(0) > b.usd_per_day.value_or(0);
  });
  PageFrame frame;
  frame.title = verdict_text(jobs, open);
  frame.topic = all_jobs_topic();
  frame.main_html = fmt::format("<div id=\"verdict\" data-live><h1>{}</h1>\n{}</div>\n", frame.title,
                                problem_html(context.state));
  std::string cards;
  for (std::size_t i = 0; i < std::min(open.size(), kShownAlerts); ++i)
    cards += alert_card_html(context, open[i], 3);
  if (open.size() > kShownAlerts)
    cards += paragraph("", link_html("/alerts", fmt::format("All {} open alerts", open.size())));
  if (cards.empty()) cards = paragraph("", "None is open. " + link_html("/alerts", "Past alerts"));
  frame.main_html += section_html("alerts", "Alerts", Renewal::kLive, cards);
  frame.main_html += section_html("jobs", "Jobs", Renewal::kLive, jobs_table(jobs, context.options.window));
  return whole_page(context, frame);
}

}  // namespace goodput
