#include "tools/monitor_pages/page_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/page_frame.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/page_values.h"

namespace goodput {
namespace {

using ColumnKind = HtmlColumn::Kind;

std::string fix_html(std::span<const std::string> fix) {
  std::string html;
  for (const std::string& selector : fix)
    html += (html.empty() ? "<code>" : " <code>") + html_text(selector) + "</code>";
  return html;
}

std::string places_html(std::string_view job, std::span<const WorkerPlace> places) {
  std::string html;
  for (const WorkerPlace& place : places) html += (html.empty() ? "" : "; ") + worker_html(job, place);
  return html;
}

std::string gain_text(const std::optional<double>& gain) {
  return gain ? slowdown_text(*gain) : "–";
}

// A bar of an SVG beside a number: as long as the slowdown is of the largest one.
std::string bar_html(double slowdown, double largest) {
  const double lost = std::isfinite(slowdown) ? std::max(0.0, slowdown - 1) : 0;
  const double share = lost / std::max(largest - 1, 0.05);
  return fmt::format(
      R"(<svg class="bar" width="120" height="10" aria-hidden="true"><rect width="{:.1f}" height="10"/></svg>)",
      120 * std::clamp(share, 0.0, 1.0));
}

std::string slowdown_table(const std::string& caption, const std::string& heading,
                           std::span<const LabelledSlowdown> entries) {
  double largest = 1;
  for (const LabelledSlowdown& entry : entries) {
    if (std::isfinite(entry.slowdown)) largest = std::max(largest, entry.slowdown);
  }
  HtmlTable table(caption, {{heading}, {"slowdown", ColumnKind::kNumber}, {"relative to the largest"}});
  for (const LabelledSlowdown& entry : entries)
    table.add_row({html_text(entry.label), slowdown_text(entry.slowdown), bar_html(entry.slowdown, largest)});
  return table.html();
}

}  // namespace

std::string window_causes_html(const ShownJob& job) {
  const std::vector<WindowCause> causes = causes_of(job);
  if (causes.empty()) {
    return paragraph("", job.window.empty() ? "No step has been analyzed yet."
                                            : fmt::format("No likely cause in the last {} analyzed steps.",
                                                          job.window.size()));
  }
  HtmlTable table("Causes in the last steps", {{"cause"},
                                               {"likely in", ColumnKind::kNumber},
                                               {"gain", ColumnKind::kNumber},
                                               {"where", ColumnKind::kLong},
                                               {"evidence", ColumnKind::kLong},
                                               {"check next", ColumnKind::kLong},
                                               {"fix"}});
  for (const WindowCause& cause : causes) {
    std::string about = places_html(job.info.name, cause.suspects);
    if (about.empty() && cause.latest.stage) about = fmt::format("stage {}", *cause.latest.stage);
    table.add_row({link_html(step_link(job.info.name, cause.latest_step), html_name(cause.name)),
                   fmt::format("{} of {}", cause.likely_in, cause.of), gain_text(cause.gain), about,
                   html_text(cause.latest.evidence), html_text(cause.latest.next_check),
                   fix_html(cause.latest.fix)});
  }
  return table.html() +
         paragraph(
             "note",
             "Gain is the step time divided by the step time with the fix, averaged over the steps in which "
             "the cause is likely. The columns to the right of the gain show the latest of these steps.");
}

std::string step_causes_html(std::string_view job, const StepResult& step) {
  if (step.causes.empty()) return paragraph("", "No causes are stored for this step.");
  HtmlTable table("Causes of this step", {{"cause"},
                                          {"likely"},
                                          {"gain", ColumnKind::kNumber},
                                          {"where", ColumnKind::kLong},
                                          {"evidence", ColumnKind::kLong},
                                          {"check next", ColumnKind::kLong},
                                          {"fix"}});
  const StepDigest digest = digest_of(step);
  for (std::size_t i = 0; i < digest.causes.size(); ++i) {
    const StepCause& cause = digest.causes[i];
    std::string about = places_html(job, digest.suspects[i]);
    const std::size_t all = step.causes[i].workers.size();
    if (all > digest.suspects[i].size())
      about += fmt::format(" and {} more", all - digest.suspects[i].size());
    if (about.empty() && cause.stage) about = fmt::format("stage {}", *cause.stage);
    table.add_row({html_name(cause.name), cause.is_likely ? "yes" : "no", gain_text(cause.gain), about,
                   html_text(cause.evidence), html_text(cause.is_likely ? cause.next_check : ""),
                   fix_html(cause.fix)});
  }
  return table.html();
}

std::string parts_html(std::span<const double> by_stage, std::span<const LabelledSlowdown> by_optype) {
  std::vector<LabelledSlowdown> stages;
  for (std::size_t stage = 0; stage < by_stage.size(); ++stage)
    stages.push_back({fmt::format("stage {}", stage), by_stage[stage]});
  std::string html = "<div class=\"columns\">\n";
  if (!stages.empty())
    html += "<div><h3>By pipeline stage</h3>" +
            slowdown_table("Slowdown by pipeline stage", "stage", stages) + "</div>\n";
  if (!by_optype.empty())
    html +=
        "<div><h3>By op type</h3>" + slowdown_table("Slowdown by op type", "op type", by_optype) + "</div>\n";
  return html + "</div>" +
         paragraph("note",
                   "Slowdown of the step if only this part ran as recorded and everything else were ideal.");
}

std::string_view shape_text(SlowdownShape shape) {
  switch (shape) {
    case SlowdownShape::kNone:
      return "no worker is slow";
    case SlowdownShape::kWorkers:
      return "single slow workers (machines)";
    case SlowdownShape::kStages:
      return "whole stages slow (uneven model partition)";
    case SlowdownShape::kSequence:
      return "slow workers across replicas (sequence lengths)";
    case SlowdownShape::kOther:
      return "slow workers in no known pattern";
  }
  return "";
}

std::string_view condition_text(JobCondition condition) {
  switch (condition) {
    case JobCondition::kWaiting:
      return "waiting for its first step";
    case JobCondition::kRunning:
      return "running";
    case JobCondition::kRefused:
      return "latest step refused";
    case JobCondition::kIncomplete:
      return "latest step incomplete";
    case JobCondition::kBehind:
      return "behind (steps are skipped)";
    case JobCondition::kSilent:
      return "silent (no rows are arriving)";
    case JobCondition::kUnwatched:
      return "not watched at the moment";
  }
  return "";
}

}  // namespace goodput
