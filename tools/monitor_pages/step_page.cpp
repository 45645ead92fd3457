#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/base/text.h"
#include "tools/monitor_pages/markup.h"
#include "tools/monitor_pages/page_content.h"
#include "tools/monitor_pages/page_frame.h"
#include "tools/monitor_pages/page_parts.h"
#include "tools/monitor_pages/page_values.h"
#include "tools/monitor_pages/worker_map.h"

namespace goodput {
namespace {

// Where one can go from a step.
struct StepNeighbours {
  std::optional<StepId> previous;
  std::optional<StepId> next;
  std::int64_t first = 0;  // of the slider, in this run
  std::int64_t last = 0;
};

Result<std::vector<StepTotals>> newest_of(PageContext& context, const std::string& job,
                                          std::optional<StepId> from, std::optional<StepId> to,
                                          std::size_t most) {
  StepQuery query;
  query.from = from;
  query.to = to;
  query.most = most;
  query.newest_first = true;
  return context.store.steps(job, query);
}

// Among the steps that follow in number, in spans that grow: the store tells the newest of a span, not the
// oldest.
Result<std::optional<StepId>> next_step(PageContext& context, const std::string& job, StepId id) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t span : {1, 16, 256, 4096}) {
    const StepId to{id.run, id.step > kLast - span ? kLast : id.step + span};
    GOODPUT_TRY(const std::vector<StepTotals> steps,
                newest_of(context, job, StepId{id.run, id.step}, to, static_cast<std::size_t>(span) + 1));
    std::optional<StepId> next;
    for (const StepTotals& step : steps) {
      if (step.id > id && (!next || step.id < *next)) next = step.id;
    }
    if (next) return next;
  }
  // Behind a long gap, or in the next run: any later step is better than none.
  GOODPUT_TRY(const std::vector<StepTotals> later, newest_of(context, job, id, std::nullopt, 1));
  if (later.empty() || later.front().id <= id) return std::optional<StepId>{};
  return std::optional<StepId>{later.front().id};
}

Result<StepNeighbours> neighbours_of(PageContext& context, const std::string& job, StepId id) {
  constexpr std::size_t kBehindSlider = 300;
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  StepNeighbours around;
  around.first = around.last = id.step;
  GOODPUT_TRY(const std::vector<StepTotals> before, newest_of(context, job, std::nullopt, id, kBehindSlider));
  for (const StepTotals& step : before) {
    if (step.id < id && !around.previous) around.previous = step.id;
    if (step.id.run == id.run) around.first = std::min(around.first, step.id.step);
  }
  GOODPUT_TRY(around.next, next_step(context, job, id));
  GOODPUT_TRY(const std::vector<StepTotals> newest, newest_of(context, job, id, StepId{id.run, kLast}, 1));
  if (!newest.empty()) around.last = std::max(around.last, newest.front().id.step);
  return around;
}

std::string navigation_html(const std::string& job, StepId id, const StepNeighbours& around) {
  const auto link = [&](const std::optional<StepId>& to, std::string_view relation, std::string_view text) {
    if (!to) return fmt::format("<span class=\"no-link\">{}</span>", text);
    return fmt::format("<a rel=\"{}\" href=\"{}\">{}</a>", relation, step_link(job, *to), text);
  };
  return fmt::format(
      R"(<div class="step-navigation"><nav aria-label="Steps">{} {}</nav>
<form class="slider" action="{}/steps" method="get"><input type="hidden" name="run" value="{}">
<label for="step-slider">Step</label><input id="step-slider" type="range" name="step" min="{}" max="{}" value="{}">
<output for="step-slider">{}</output><button>Show</button></form></div>
)",
      link(around.previous, "prev", "← previous"), link(around.next, "next", "next →"), job_link(job), id.run,
      around.first, around.last, id.step, id.step);
}

std::string figures_of_step(const StepTotals& totals, const JobLayout& layout) {
  std::vector<PageFigure> figures;
  if (totals.status == StepStatus::kAnalysed) {
    figures = {
        {"S", slowdown_text(totals.slowdown), "waste " + share_text(totals.waste())},
        {"Step time", seconds_text(totals.recorded_s), "ideal " + seconds_text(totals.ideal_s)},
        {"Lost", seconds_text(totals.lost_s()), fmt::format("on {} GPUs", count_text(layout.gpus()))},
        {"Late launches", slowdown_text(totals.launch_slowdown), "recorded time divided by replayed time"},
        {"Replay error", share_text(totals.discrepancy), ""},
        {"Pattern", std::string(shape_text(totals.shape)), ""},
    };
  }
  figures.push_back({"Started", time_html(totals.began_s), fmt::format("{} ops", count_text(totals.ops))});
  figures.push_back({"Lag",
                     totals.received_s > 0 && totals.finished_s > 0
                         ? seconds_text(std::max(0.0, totals.finished_s - totals.received_s))
                         : "–",
                     "from the last row of the step to its result"});
  return figures_html(figures);
}

std::string problem_of_step(const std::string& job, const StepResult& step) {
  std::string html;
  const StepStatus status = step.totals.status;
  if (status != StepStatus::kAnalysed) {
    html += paragraph("problem", fmt::format("This step was not analyzed: {}.{}",
                                             kStepStatuses[static_cast<std::size_t>(status)],
                                             step.problem.empty() ? "" : " " + html_text(step.problem)));
  }
  if (!step.missing.empty()) {
    constexpr std::size_t kShown = 200;
    HtmlTable table("Workers with missing rows", {{"worker"}, {"host"}});
    for (std::size_t i = 0; i < std::min(kShown, step.missing.size()); ++i) {
      const WorkerPlace& worker = step.missing[i];
      table.add_row({worker_html(job, worker), worker.host.empty() ? "unknown" : html_name(worker.host)});
    }
    html += fmt::format("<h2>{} worker{} with missing rows</h2>\n{}", step.missing.size(),
                        step.missing.size() == 1 ? "" : "s", table.html());
    if (step.missing.size() > kShown)
      html += paragraph("note", fmt::format("Only the first {} are shown.", kShown));
  }
  return html;
}

std::string notes_html(const StepResult& step) {
  if (step.notes.empty()) return {};
  std::string html = "<ul class=\"plain\">";
  for (const std::string& note : step.notes) html += "<li>" + html_text(note) + "</li>";
  return section_html("notes", "Notes", Renewal::kOnce, html + "</ul>");
}

Result<std::string> files_html(PageContext& context, const std::string& job, const StepResult& step) {
  const StepId id = step.totals.id;
  const std::string link = step_link(job, id);
  std::string html = paragraph("", link_html("/api/v1" + link, "All numbers of this step as JSON") +
                                       ", with the exact slowdown of every worker.");
  GOODPUT_TRY(const std::vector<StepId> with_rows, context.store.steps_with_rows(job));
  if (std::ranges::find(with_rows, id) == with_rows.end())
    return html + paragraph("",
                            "The rows of this step are no longer stored. The monitor keeps rows only of the "
                            "latest steps and of steps at which an incident opened.");
  if (step.totals.ops > context.options.most_timeline_ops) {
    return html + paragraph("", fmt::format("This step has {} ops, which is too many for a browser. Write "
                                            "its rows with <code>goodput monitor export --trace</code> and "
                                            "make a timeline with <code>goodput whatif --timeline</code>.",
                                            count_text(step.totals.ops)));
  }
  return html +
         paragraph("", fmt::format("{} for ui.perfetto.dev or chrome://tracing.",
                                   link_html(link + "/timeline.json.gz", "Timeline of this step"))) +
         paragraph("", fmt::format("{} for <code>goodput whatif</code>.",
                                   link_html(link + "/rows.csv.gz", "Rows of this step")));
}

Result<std::string> map_section(PageContext& context, const std::string& job, const StepResult& step) {
  GOODPUT_TRY(const std::optional<ShownMap> map, find_map(context, job, step));
  if (!map)
    return section_html("map", "Worker map", Renewal::kOnce,
                        paragraph("", "No worker map is stored for this step."));
  std::string html;
  if (map->id != step.totals.id) {
    html =
        paragraph("", fmt::format("No worker map is stored for this step. This one is from {}, the latest "
                                  "earlier step that has one.",
                                  link_html(step_link(job, map->id), fmt::format("step {}", map->id.step))));
  }
  return section_html("map", "Worker map", Renewal::kOnce, html + map_html(context, job, *map));
}

}  // namespace

Result<HttpResponse> step_page(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::optional<StepResult> step, context.store.step(route.job, route.step));
  if (!step) return error_page(404, "There is no such step, or it is no longer stored.");
  GOODPUT_TRY(const StepNeighbours around, neighbours_of(context, route.job, route.step));
  GOODPUT_TRY(const std::string map, map_section(context, route.job, *step));
  GOODPUT_TRY(const std::string files, files_html(context, route.job, *step));
  PageFrame frame;
  const std::string run = route.step.run == 0 ? "" : fmt::format(" (run {})", route.step.run);
  frame.title = fmt::format("Step {}{} of {}", route.step.step, run, route.job);
  frame.trail = {{"Jobs", "/"}, {route.job, job_link(route.job)}};
  frame.main_html =
      fmt::format("<h1>Step {}{} of {}</h1>\n{}{}{}", route.step.step, run, html_name(route.job),
                  navigation_html(route.job, route.step, around), problem_of_step(route.job, *step),
                  figures_of_step(step->totals, step->layout));
  frame.main_html += map;
  if (step->totals.status == StepStatus::kAnalysed) {
    frame.main_html += section_html("causes", "Causes", Renewal::kOnce, step_causes_html(route.job, *step)) +
                       section_html("parts", "Where the step loses time", Renewal::kOnce,
                                    parts_html(step->by_stage, step->by_optype));
  }
  frame.main_html += notes_html(*step);
  frame.main_html += section_html("files", "Downloads", Renewal::kOnce, files);
  return whole_page(context, frame);
}

Result<HttpResponse> find_step(PageContext& context, const PageRoute& route, const HttpRequest& request) {
  const std::optional<std::int64_t> run = parse_integer(request.parameter("run"));
  const std::optional<std::int64_t> step = parse_integer(request.parameter("step"));
  if (!step || (run && (*run < 0 || *run > std::numeric_limits<std::int32_t>::max())))
    return error_page(404, "The address must contain ?step=NUMBER, and run=NUMBER if the job has restarted.");
  const StepId asked{static_cast<std::int32_t>(run.value_or(0)), *step};
  GOODPUT_TRY(const std::vector<StepTotals> found, newest_of(context, route.job, std::nullopt, asked, 1));
  if (found.empty()) return error_page(404, "There is no step with this or a lower number.");
  HttpResponse response;
  response.status = 303;
  response.headers.emplace_back("Location", step_link(route.job, found.front().id));
  return response;
}

}  // namespace goodput
