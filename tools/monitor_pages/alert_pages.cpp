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

std::string what_if_html(const Alert& alert) {
  if (alert.fix.empty()) return {};
  // Selectors may be joined by &, which a shell would take for itself.
  std::string fixes;
  for (const std::string& fix : alert.fix) fixes += fmt::format(" --fix \"{}\"", html_text(fix));
  return section_html(
      "fix", "What a fix would gain", Renewal::kOnce,
      paragraph("", "With the rows of the step (see its page):") +
          fmt::format("<pre class=\"command\"><code>goodput whatif rows.csv.gz{}</code></pre>", fixes));
}

std::string dates_html(const PageContext& context, const Alert& alert) {
  HtmlTable table("What is known of this alert", {{"what"}, {"value"}});
  const auto step = [&](StepId id) {
    return link_html(step_link(alert.job, id), fmt::format("step {}", id.step));
  };
  table.add_row({"job", link_html(job_link(alert.job), html_name(alert.job))});
  table.add_row({"rule", html_name(alert.rule)});
  table.add_row({"likely cause", alert.cause.empty() ? "none" : html_name(alert.cause)});
  table.add_row({"opened", fmt::format("{}, {}, {}", time_html(alert.opened_s), step(alert.opened_at),
                                       ago_text(alert.opened_s, context.now_s))});
  std::string closed = "open";
  if (!alert.is_open()) {
    closed = time_html(*alert.closed_s);
    if (alert.closed_at) closed += ", " + step(*alert.closed_at);
    closed += ", after " + seconds_text(*alert.closed_s - alert.opened_s);
  }
  table.add_row({"closed", closed});
  if (alert.worker && !alert.worker->host.empty()) table.add_row({"host", html_name(alert.worker->host)});
  return table.html();
}

}  // namespace

Result<HttpResponse> alerts_page(PageContext& context) {
  GOODPUT_TRY(const std::vector<Alert> open, context.store.alerts("", true, 1000));
  GOODPUT_TRY(std::vector<Alert> closed, context.store.alerts("", false, 500));
  std::erase_if(closed, [](const Alert& alert) { return alert.is_open(); });
  PageFrame frame;
  frame.title = open.empty() ? "No open alert"
                             : fmt::format("{} open alert{}", open.size(), open.size() == 1 ? "" : "s");
  frame.topic = all_jobs_topic();
  frame.main_html = fmt::format("<div id=\"verdict\" data-live><h1>{}</h1></div>\n", frame.title);
  frame.main_html +=
      section_html("open", "Open", Renewal::kLive,
                   open.empty() ? paragraph("", "None.") : alert_table_html(context, "Open alerts", open));
  frame.main_html += section_html(
      "closed", "Closed", Renewal::kLive,
      closed.empty() ? paragraph("", "None.") : alert_table_html(context, "Closed alerts", closed));
  return whole_page(context, frame);
}

Result<HttpResponse> alert_page(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::optional<Alert> alert, context.store.alert(route.alert));
  if (!alert) return error_page(404, "There is no alert of this number.");
  PageFrame frame;
  frame.title = fmt::format("Alert {}: {}", alert->id, alert->summary.empty() ? alert->rule : alert->summary);
  frame.trail = {{"Alerts", "/alerts"}, {alert->job, job_link(alert->job)}};
  frame.topic = job_topic(alert->job);
  frame.main_html = fmt::format("<div id=\"verdict\" data-live><h1>Alert {}{}</h1>\n{}</div>\n", alert->id,
                                alert->is_open() ? "" : ", closed", alert_card_html(context, *alert, 2));
  frame.main_html +=
      section_html("dates", "What is known of it", Renewal::kLive, dates_html(context, *alert));
  frame.main_html += what_if_html(*alert);
  return whole_page(context, frame);
}

}  // namespace goodput
