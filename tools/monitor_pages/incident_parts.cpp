#include "tools/monitor_pages/incident_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/page_frame.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/page_values.h"

namespace goodput {
namespace {

std::optional<double> s_per_step(const Incident& incident) {
  const std::optional<Verdict::Cost>& cost = incident.verdict.cost;
  return cost ? std::optional(cost->s_per_step) : std::nullopt;
}

std::string opening_step_html(const Incident& incident) {
  return link_html(step_link(incident.job, incident.opened_at),
                   fmt::format("step {}", incident.opened_at.step));
}

// `a` of the subject key `host:a`.
std::string_view name_in_key(std::string_view key) {
  return key.substr(std::min(key.find(':') + 1, key.size()));
}

std::string link_subject_text(const Verdict::Link& link) {
  return fmt::format("link between stages {} and {} {}", link.from, link.to,
                     link.dp ? fmt::format("of replica {}", *link.dp) : "in all replicas");
}

}  // namespace

std::string open_incidents_text(std::span<const Incident> open, double now_s) {
  const auto muted =
      std::ranges::count_if(open, [now_s](const Incident& one) { return one.is_muted(now_s); });
  const auto urgent = static_cast<std::ptrdiff_t>(open.size()) - muted;
  std::string text;
  if (urgent > 0) text = fmt::format("{} open incident{}", urgent, urgent == 1 ? "" : "s");
  if (muted > 0 && urgent > 0) text += fmt::format(", {} muted", muted);
  if (muted > 0 && urgent == 0) text = fmt::format("{} muted incident{}", muted, muted == 1 ? "" : "s");
  return text;
}

void put_urgent_first(std::vector<Incident>& open, double now_s) {
  const auto key = [now_s](const Incident& one) {
    return std::tuple(one.is_muted(now_s), -one.usd_per_day.value_or(0));
  };
  std::ranges::stable_sort(open, [&key](const Incident& a, const Incident& b) { return key(a) < key(b); });
}

std::string incident_sentence(const Incident& incident) {
  if (!incident.verdict.sentence.empty()) return incident.verdict.sentence;
  return "Something is wrong with this job; no details are known.";
}

std::string incident_state_html(const PageContext& context, const Incident& incident) {
  const auto ago = [&](double at_s) { return ago_text(at_s, context.now_s); };
  switch (incident.state(context.now_s)) {
    case IncidentState::kOpen:
      return "<span class=\"state attention\">open</span>";
    case IncidentState::kAcknowledged:
      return fmt::format("<span class=\"state fine\">acknowledged</span> by {} {}",
                         html_name(incident.acknowledged->by), ago(incident.acknowledged->at_s));
    case IncidentState::kMuted:
      return fmt::format("<span class=\"state quiet\">muted</span> by {} until {}",
                         html_name(incident.muted->by), time_html(incident.muted->until_s));
    case IncidentState::kClosed:
      break;
  }
  std::string html =
      "<span class=\"state quiet\">closed</span> " + ago(incident.closed_s.value_or(incident.opened_s));
  if (!incident.closed_by.empty()) html += " by " + html_name(incident.closed_by);
  if (!incident.merged_into.empty())
    html += ", merged into " + link_html(incident_link(incident.merged_into), "another incident");
  return html;
}

std::string incident_subject_html(const Incident& incident) {
  const Verdict& verdict = incident.verdict;
  const std::string& type = verdict.subject.type;
  if (type == "worker" && verdict.workers.size() == 1)
    return "worker " + verdict_worker_html(incident.job, verdict.workers.front());
  if (type == "link" && verdict.link) return link_subject_text(*verdict.link);
  if (type.empty() || type == "job") return "the whole job";
  return html_text(type) + " " + html_name(name_in_key(verdict.subject.key));
}

std::string verdict_worker_html(std::string_view job, const Verdict::Worker& worker) {
  return worker_html(job, {static_cast<std::int32_t>(worker.dp), static_cast<std::int32_t>(worker.stage),
                           worker.rank, worker.host});
}

std::string incident_summary_html(const PageContext& context, const Incident& incident) {
  std::vector<PageFigure> figures;
  const std::string cost = cost_text(s_per_step(incident), incident.usd_per_day);
  if (!cost.empty()) {
    const std::optional<Verdict::Cost>& known = incident.verdict.cost;
    figures.push_back({"Cost", cost, known ? share_text(known->share) + " of the job's time" : ""});
  }
  if (!incident.verdict.next_check.empty())
    figures.push_back({"Check next", html_text(incident.verdict.next_check)});
  const std::string line = fmt::format(
      "{} · {} · {} · opened {} at {}", link_html(job_link(incident.job), html_name(incident.job)),
      kAlertSeverities[static_cast<std::size_t>(incident.severity)], incident_state_html(context, incident),
      ago_text(incident.opened_s, context.now_s), opening_step_html(incident));
  return paragraph("note", line) + (figures.empty() ? "" : "\n" + figures_html(figures));
}

std::string incident_card_html(const PageContext& context, const Incident& incident, int heading) {
  return fmt::format("<div class=\"incident-card {}\">\n<h{}>{}</h{}>\n{}\n</div>\n",
                     kIncidentStates[static_cast<std::size_t>(incident.state(context.now_s))], heading,
                     link_html(incident_link(incident.key), html_text(incident_sentence(incident))), heading,
                     incident_summary_html(context, incident));
}

std::string incident_table_html(const PageContext& context, std::string_view caption,
                                std::span<const Incident> incidents) {
  using ColumnKind = HtmlColumn::Kind;
  if (incidents.empty()) return {};
  HtmlTable table(std::string(caption),
                  {{"incident", ColumnKind::kLong}, {"job"}, {"severity"}, {"state"}, {"opened"}, {"cost"}});
  for (const Incident& incident : incidents) {
    const std::string cost = cost_text(s_per_step(incident), incident.usd_per_day);
    table.add_row(
        {link_html(incident_link(incident.key), html_text(incident_sentence(incident))),
         link_html(job_link(incident.job), html_name(incident.job)),
         std::string(kAlertSeverities[static_cast<std::size_t>(incident.severity)]),
         incident_state_html(context, incident),
         fmt::format("{}, {}", ago_text(incident.opened_s, context.now_s), opening_step_html(incident)),
         cost.empty() ? "–" : cost});
  }
  return table.html();
}

std::string cost_text(std::optional<double> s_per_step, std::optional<double> usd_per_day) {
  std::string text;
  if (s_per_step) text = seconds_text(*s_per_step) + " per step";
  if (usd_per_day) text += (text.empty() ? "" : ", ") + usd_text(*usd_per_day) + " per day";
  return text;
}

}  // namespace goodput
