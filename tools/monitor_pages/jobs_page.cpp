#include <fmt/format.h>

#include <algorithm>

#include "tools/monitor_pages/incident_parts.h"
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

std::string open_incidents_html(const ShownJob& job) {
  std::string html = "0";
  if (job.urgent_incidents() > 0)
    html = fmt::format("<strong class=\"attention\">{}</strong>", job.urgent_incidents());
  if (job.muted_incidents > 0) html += fmt::format(", {} muted", job.muted_incidents);
  return html;
}

std::vector<std::string> job_cells(const ShownJob& job) {
  const JobInfo& info = job.info;
  const StepDigest* latest = job.latest();
  const std::string cost = latest == nullptr ? "–"
                           : job.usd_per_day ? usd_text(*job.usd_per_day) + " per day"
                                             : fmt::format("{:.1f} GPU-h per day", job.gpu_hours_per_day);
  const std::string last_step =
      info.latest ? link_html(step_link(info.name, info.latest->id), fmt::format("{}", info.latest->id.step))
                  : "–";
  return {link_html(job_link(info.name), html_name(info.name)),
          state_html(job),
          open_incidents_html(job),
          latest == nullptr ? "–" : slowdown_text(latest->totals.slowdown),
          latest == nullptr ? "–" : share_text(job.waste),
          cost,
          latest == nullptr || latest->totals.cause.empty() ? "–" : html_name(latest->totals.cause),
          latest == nullptr ? "–" : worker_html(info.name, latest->worst),
          last_step,
          job.status && job.status->lag_s ? seconds_text(*job.status->lag_s) : "–"};
}

std::string jobs_table(const std::vector<ShownJob>& jobs, std::int32_t window) {
  if (jobs.empty()) return paragraph("", "No job yet: no rows have arrived.");
  HtmlTable table("Jobs", {{"job"},
                           {"state"},
                           {"open incidents", ColumnKind::kNumber},
                           {"S now", ColumnKind::kNumber},
                           {"waste", ColumnKind::kNumber},
                           {"cost", ColumnKind::kNumber},
                           {"likely cause"},
                           {"worst worker", ColumnKind::kLong},
                           {"last step", ColumnKind::kNumber},
                           {"lag", ColumnKind::kNumber}});
  for (const ShownJob& job : jobs) table.add_row(job_cells(job));
  return table.html() +
         paragraph("note", fmt::format("S is the step time divided by the step time without stragglers. "
                                       "Waste and cost are means over the last {} analyzed steps.",
                                       window));
}

// One line that says whether to read on.
std::string verdict_text(const std::vector<ShownJob>& jobs, const std::vector<Incident>& open, double now_s) {
  const auto troubled = std::ranges::count_if(
      jobs, [](const ShownJob& job) { return job.urgent_incidents() > 0 || needs_attention(job.condition); });
  if (jobs.empty()) return "The monitor is waiting for the first rows";
  const std::string incidents = open_incidents_text(open, now_s);
  std::string text = fmt::format("{} of {} job{} need{} attention", troubled, jobs.size(),
                                 jobs.size() == 1 ? "" : "s", troubled == 1 ? "s" : "");
  if (troubled == 0) {
    text = jobs.size() == 1 ? "The job does not need attention"
                            : fmt::format("None of {} jobs needs attention", jobs.size());
  }
  return incidents.empty() ? text : text + ": " + incidents;
}

std::string problem_html(const MonitorState& state) {
  std::string html;
  if (!state.problem.empty())
    html += paragraph("problem",
                      "<strong>The monitor itself has a problem:</strong> " + html_text(state.problem));
  if (state.undelivered > 0)
    html += paragraph("problem", fmt::format("{} message{} about incidents could not be delivered yet.",
                                             state.undelivered, state.undelivered == 1 ? "" : "s"));
  return html;
}

}  // namespace

Result<HttpResponse> jobs_page(PageContext& context) {
  constexpr std::size_t kShownIncidents = 5;
  GOODPUT_TRY(const std::vector<ShownJob> jobs, view_jobs(context));
  GOODPUT_TRY(std::vector<Incident> open, context.store.incidents("", true, 1000));
  put_urgent_first(open, context.now_s);
  PageFrame frame;
  frame.title = verdict_text(jobs, open, context.now_s);
  frame.topic = all_jobs_topic();
  frame.main_html = fmt::format("<div id=\"verdict\" data-live><h1>{}</h1>\n{}</div>\n", frame.title,
                                problem_html(context.state));
  std::string cards;
  for (std::size_t i = 0; i < std::min(open.size(), kShownIncidents); ++i)
    cards += incident_card_html(context, open[i], 3);
  if (open.size() > kShownIncidents)
    cards += paragraph("", link_html("/incidents", fmt::format("All {} open incidents", open.size())));
  if (cards.empty())
    cards = paragraph("", "No incident is open. " + link_html("/incidents", "Past incidents"));
  frame.main_html += section_html("incidents", "Incidents", Renewal::kLive, cards);
  frame.main_html += section_html("jobs", "Jobs", Renewal::kLive, jobs_table(jobs, context.options.window));
  return whole_page(context, frame);
}

}  // namespace goodput
