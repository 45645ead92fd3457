#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tools/monitor_pages/incident_parts.h"
#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/monitor_topics.h"
#include "tools/monitor_pages/page_content.h"
#include "tools/monitor_pages/page_frame.h"
#include "tools/monitor_pages/page_values.h"
#include "tools/web/access.h"

namespace goodput {
namespace {

// ---- One incident.

std::string step_html(const Incident& incident, StepId step) {
  return link_html(step_link(incident.job, step), fmt::format("step {}", step.step));
}

std::string workers_html(const Incident& incident) {
  constexpr std::size_t kShown = 8;
  const std::vector<Verdict::Worker>& workers = incident.verdict.workers;
  std::string html;
  for (std::size_t i = 0; i < std::min(kShown, workers.size()); ++i)
    html += (i == 0 ? "" : "; ") + verdict_worker_html(incident.job, workers[i]);
  if (workers.size() > kShown) html += fmt::format(" and {} more", workers.size() - kShown);
  return html;
}

std::string closing_html(const Incident& incident) {
  std::string html = time_html(*incident.closed_s);
  if (incident.closed_at) html += ", at " + step_html(incident, *incident.closed_at);
  html += ", after " + seconds_text(*incident.closed_s - incident.opened_s);
  if (!incident.closed_by.empty()) html += ", by " + html_name(incident.closed_by);
  return html;
}

// `latest`: the latest analyzed step of the job.
std::string facts_html(const PageContext& context, const Incident& incident, std::optional<StepId> latest) {
  HtmlTable table("Facts about this incident", {{"property"}, {"value", HtmlColumn::Kind::kLong}});
  table.add_row({"job", link_html(job_link(incident.job), html_name(incident.job))});
  table.add_row({"subject", incident_subject_html(incident)});
  if (incident.verdict.workers.size() > 1) table.add_row({"workers", workers_html(incident)});
  table.add_row({"severity", std::string(kAlertSeverities[static_cast<std::size_t>(incident.severity)])});
  table.add_row({"state", incident_state_html(context, incident)});
  table.add_row({"opened", fmt::format("{}, at {}, {}", time_html(incident.opened_s),
                                       step_html(incident, incident.opened_at),
                                       ago_text(incident.opened_s, context.now_s))});
  if (latest && incident.last_seen < *latest)
    table.add_row({"last seen", "at " + step_html(incident, incident.last_seen)});
  if (!incident.is_open()) table.add_row({"closed", closing_html(incident)});
  if (!incident.merged_into.empty()) {
    table.add_row(
        {"merged into", link_html(incident_link(incident.merged_into), html_name(incident.merged_into))});
  }
  if (incident.acknowledged) {
    table.add_row({"acknowledged", fmt::format("by {} at {}", html_name(incident.acknowledged->by),
                                               time_html(incident.acknowledged->at_s))});
  }
  if (incident.muted) {
    table.add_row({"muted", fmt::format("by {} until {}", html_name(incident.muted->by),
                                        time_html(incident.muted->until_s))});
  }
  return table.html();
}

std::string evidence_html(const Incident& incident) {
  if (incident.evidence.empty()) return paragraph("", "No rule detects this problem any longer.");
  HtmlTable table("Evidence of this incident",
                  {{"rule"}, {"finding"}, {"severity"}, {"since"}, {"still holds"}});
  for (const IncidentEvidence& evidence : incident.evidence) {
    table.add_row({html_name(evidence.rule), html_name(evidence.kind),
                   std::string(kAlertSeverities[static_cast<std::size_t>(evidence.severity)]),
                   step_html(incident, evidence.since), evidence.holds ? "yes" : "no"});
  }
  return table.html();
}

std::string fix_section(const Incident& incident) {
  if (incident.verdict.fix.empty()) return {};
  // Selectors may be joined by &, which a shell would take for itself.
  std::string fixes;
  for (const std::string& fix : incident.verdict.fix) fixes += fmt::format(" --fix \"{}\"", html_text(fix));
  return section_html(
      "fix", "How much would the fix gain?", Renewal::kOnce,
      paragraph("", fmt::format("Download the rows of {} from the page of that step, then run:",
                                step_html(incident, incident.opened_at))) +
          fmt::format("<pre class=\"command\"><code>goodput whatif rows.csv.gz{}</code></pre>", fixes));
}

// ---- What a person may do about it, by forms that work without scripts.

struct ActionForm {
  IncidentAction::Kind action;
  std::string_view button;
  std::string_view meaning;
};

constexpr std::array kActionForms = {
    ActionForm{IncidentAction::Kind::kAcknowledge, "Acknowledge",
               "Tells others that you are working on this incident."},
    ActionForm{IncidentAction::Kind::kMute, "Mute",
               "Sends no messages about this subject for the chosen time, even if the incident closes and "
               "opens again. The mute ends early if the incident becomes more severe."},
    ActionForm{IncidentAction::Kind::kEnd, "End",
               "Closes this incident now. If a rule detects the problem again, a new incident opens."},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kMuteTimes = {
    {{"1h", "1 hour"}, {"4h", "4 hours"}, {"24h", "24 hours"}, {"7d", "7 days"}}};

std::string mute_time_html() {
  std::string html = "<label for=\"mute-for\">For</label><select id=\"mute-for\" name=\"for\">";
  for (const auto& [value, text] : kMuteTimes) {
    html += fmt::format("<option value=\"{}\"{}>{}</option>", value, value == "4h" ? " selected" : "", text);
  }
  return html + "</select>\n";
}

std::string form_html(const Incident& incident, const ActionForm& form, std::string_view user) {
  const std::string_view action = kIncidentActions[static_cast<std::size_t>(form.action)];
  return fmt::format(
      R"(<form class="incident-action" action="{0}" method="post"><input type="hidden" name="action" value="{1}">
<div><label for="{1}-by">Your name</label><input id="{1}-by" name="by" value="{2}" required maxlength="100" autocomplete="name">
{3}<button>{4}</button></div>
<p class="note">{5}</p></form>
)",
      incident_link(incident.key), action, html_text(user),
      form.action == IncidentAction::Kind::kMute ? mute_time_html() : "", form.button, form.meaning);
}

// Not live: what somebody types must stay.
std::string actions_section(const PageContext& context, const Incident& incident,
                            const HttpRequest& request) {
  if (!incident.is_open()) return {};
  std::string html;
  if (context.options.act) {
    for (const ActionForm& form : kActionForms) html += form_html(incident, form, user_of(request));
  } else {
    html = paragraph("",
                     "Start the monitor with <code>--token-file</code> to acknowledge, mute or end "
                     "incidents here.");
  }
  return section_html("actions", "Actions", Renewal::kOnce, html);
}

// ---- All of them.

std::string incidents_title(std::span<const Incident> open, double now_s) {
  if (open.empty()) return "No incident is open";
  const auto muted =
      std::ranges::count_if(open, [now_s](const Incident& one) { return one.is_muted(now_s); });
  std::string title = fmt::format("{} incident{} open", open.size(), open.size() == 1 ? " is" : "s are");
  if (muted > 0 && open.size() == 1) return title + " and muted";
  if (muted > 0) title += fmt::format(", {} of them muted", muted);
  return title;
}

}  // namespace

Result<HttpResponse> incidents_page(PageContext& context) {
  GOODPUT_TRY(const std::vector<Incident> open, context.store.incidents("", true, 1000));
  GOODPUT_TRY(std::vector<Incident> closed, context.store.incidents("", false, 500));
  std::erase_if(closed, [](const Incident& incident) { return incident.is_open(); });
  PageFrame frame;
  frame.title = incidents_title(open, context.now_s);
  frame.topic = all_jobs_topic();
  frame.main_html = fmt::format("<div id=\"verdict\" data-live><h1>{}</h1></div>\n", frame.title);
  frame.main_html += section_html(
      "open", "Open", Renewal::kLive,
      open.empty() ? paragraph("", "None.") : incident_table_html(context, "Open incidents", open));
  frame.main_html += section_html(
      "closed", "Closed", Renewal::kLive,
      closed.empty() ? paragraph("", "None.") : incident_table_html(context, "Closed incidents", closed));
  return whole_page(context, frame);
}

Result<HttpResponse> incident_page(PageContext& context, const PageRoute& route, const HttpRequest& request) {
  GOODPUT_TRY(const std::optional<Incident> incident, context.store.incident(route.incident));
  if (!incident) return error_page(404, "There is no such incident, or it is no longer stored.");
  GOODPUT_TRY(const std::optional<JobInfo> job, context.store.job(incident->job));
  std::optional<StepId> latest;
  if (job && job->latest_analysed) latest = job->latest_analysed->id;
  const std::string sentence = incident_sentence(*incident);
  PageFrame frame;
  frame.title = incident->job + ": " + sentence;
  frame.trail = {{"Incidents", "/incidents"}, {incident->job, job_link(incident->job)}};
  frame.topic = job_topic(incident->job);
  frame.main_html = fmt::format("<div id=\"verdict\" data-live><h1>{}</h1>\n{}</div>\n", html_text(sentence),
                                incident_summary_html(context, *incident));
  frame.main_html += actions_section(context, *incident, request);
  frame.main_html += section_html("facts", "Facts", Renewal::kLive, facts_html(context, *incident, latest));
  frame.main_html += section_html("evidence", "Evidence", Renewal::kLive, evidence_html(*incident));
  frame.main_html += fix_section(*incident);
  return whole_page(context, frame);
}

}  // namespace goodput
