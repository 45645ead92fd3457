#include "tools/monitor_pages/page_frame.h"

#include <fmt/format.h>

#include <iterator>

#include "sim/base/append.h"
#include "tools/cli/json_result.h"
#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/page_assets.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/page_values.h"

namespace goodput {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · goodput monitor</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/monitor.css?v={style}">
<script src="/static/monitor.js?v={script}" defer></script>
</head>
<body data-topic="{topic}">
<a class="skip" href="#main">Skip to content</a>
<header class="page-head">
<a class="wordmark" href="/">goodput monitor</a>
<nav aria-label="Pages"><a href="/">Jobs</a> <a href="/incidents">Incidents</a></nav>
</header>
<div role="status" aria-live="polite"><p id="connection" class="connection" hidden></p></div>
<main id="main" tabindex="-1">
)";

std::string trail_html(const std::vector<TrailStep>& trail) {
  if (trail.empty()) return {};
  std::string html = "<nav class=\"trail\" aria-label=\"Breadcrumb\"><ol>";
  for (const TrailStep& step : trail) html += "<li>" + link_html(step.link, html_name(step.text)) + "</li>";
  return html + "</ol></nav>\n";
}

std::string foot_html(const PageContext* context) {
  std::string html = "</main>\n<footer><p class=\"note\">goodput " + html_text(program_version());
  if (context != nullptr) {
    html += fmt::format(" · page as of {} · monitor started {} · ", time_html(context->now_s),
                        time_html(context->state.started_s));
    html += context->state.uses_inotify ? "files are watched" : "files are polled";
  }
  return html +
         " · <a href=\"/api/v1\">API</a> · <a href=\"/metrics\">metrics</a></p></footer>\n</body>\n</html>\n";
}

HttpResponse page_response(const PageContext* context, const PageFrame& frame, int status) {
  HttpResponse response;
  response.status = status;
  response.body = fmt::format(
      kHead, fmt::arg("title", html_text(frame.title)), fmt::arg("style", find_asset("monitor.css")->version),
      fmt::arg("script", find_asset("monitor.js")->version), fmt::arg("topic", url_segment(frame.topic)));
  response.body += trail_html(frame.trail);
  response.body += frame.main_html;
  response.body += foot_html(context);
  return response;
}

std::string_view class_of(HtmlColumn::Kind kind) {
  switch (kind) {
    case HtmlColumn::Kind::kText:
      return "";
    case HtmlColumn::Kind::kNumber:
      return " class=\"number\"";
    case HtmlColumn::Kind::kLong:
      return " class=\"long\"";
  }
  return "";
}

}  // namespace

HttpResponse whole_page(const PageContext& context, const PageFrame& frame) {
  return page_response(&context, frame, 200);
}

HttpResponse error_page(int status, std::string_view what) {
  PageFrame frame;
  frame.title = status == 404 ? "Not found" : "Something went wrong";
  frame.main_html = fmt::format("<h1>{}</h1>\n{}\n{}", frame.title, paragraph("", html_text(what)),
                                paragraph("", "Back to " + link_html("/", "all jobs")));
  return page_response(nullptr, frame, status);
}

std::string section_html(std::string_view id, std::string_view heading, Renewal renewal,
                         std::string_view content_html) {
  return fmt::format("<section id=\"{}\"{}>\n<h2>{}</h2>\n{}\n</section>\n", id,
                     renewal == Renewal::kLive ? " data-live" : "", html_text(heading), content_html);
}

std::string figures_html(std::span<const PageFigure> figures) {
  std::string html = "<dl class=\"figures\">\n";
  for (const PageFigure& figure : figures) {
    append(html, "<div><dt>{}</dt><dd><span class=\"value\">{}</span>", html_text(figure.name),
           figure.value_html);
    if (!figure.note_html.empty()) append(html, "<span class=\"note\">{}</span>", figure.note_html);
    html += "</dd></div>\n";
  }
  return html + "</dl>";
}

void HtmlTable::add_row(const std::vector<std::string>& cells_html) {
  GOODPUT_CHECK(cells_html.size() == columns_.size(), "a table row needs one cell per column");
  ++rows_;
  rows_html_ += "<tr>";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    append(rows_html_, "<{0}{1}>{2}</{3}>", i == 0 ? "th scope=\"row\"" : "td", class_of(columns_[i].kind),
           cells_html[i], i == 0 ? "th" : "td");
  }
  rows_html_ += "</tr>\n";
}

std::string HtmlTable::html() const {
  constexpr std::size_t kLongTable = 24;
  std::string head;
  for (const HtmlColumn& column : columns_)
    head += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(column.kind), html_text(column.heading));
  return "<div class=\"table\">" +
         scroll_box(rows_ > kLongTable ? "table-scroll tall" : "table-scroll", caption_,
                    fmt::format("<table><caption class=\"visually-hidden\">{}</caption>\n"
                                "<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>",
                                html_text(caption_), head, rows_html_)) +
         "</div>";
}

std::string link_html(std::string_view link, std::string_view text_html) {
  return fmt::format("<a href=\"{}\">{}</a>", link, text_html);
}

std::string scroll_box(std::string_view kind, std::string_view label, std::string_view content_html) {
  return fmt::format("<div class=\"{}\" role=\"region\" aria-label=\"{}\" tabindex=\"0\">{}</div>", kind,
                     html_text(label), content_html);
}

std::string worker_html(std::string_view job, const WorkerPlace& worker) {
  return link_html(worker_link(job, worker.dp_rank, worker.stage), html_name(describe(worker)));
}

std::string paragraph(std::string_view kind, std::string_view text_html) {
  if (kind.empty()) return fmt::format("<p>{}</p>", text_html);
  return fmt::format("<p class=\"{}\">{}</p>", kind, text_html);
}

}  // namespace goodput
