#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "sim/base/append.h"
#include "sim/base/statistics.h"
#include "sim/causes/cause_names.h"
#include "tools/chart/heatmap.h"
#include "tools/trace/cleaning_report.h"
#include "tools/whatif/clock_report.h"
#include "tools/whatif/whatif_by_step.h"
#include "tools/whatif/whatif_report.h"

namespace goodput {
namespace {

constexpr std::size_t kContributors = 3;
constexpr double kMessagesWorthALine = 0.05;  // of the step
constexpr double kFasterThanIdeal = 0.9995;   // S that is shown as less than 1

// A page of text, built line by line.
class Page {
 public:
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    goodput::append(text_, format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  // Between two parts of the page, however many were left out.
  void blank() {
    if (!text_.ends_with("\n\n")) text_ += '\n';
  }
  void append(const std::string& block) { text_ += block; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string plural(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Indices of the largest values, largest first; equal ones in their order.
std::vector<std::size_t> largest(const std::vector<double>& values, std::size_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(std::min(order.size(), count));
  return order;
}

bool is_by_rank(const WorkerGrid& grid) {
  return grid.naming == WorkerGrid::Naming::kByRank;
}

// `64 ranks on 8 hosts`, `8 ranks in 4 stages`
std::string ranks_text(const WorkerGrid& grid) {
  std::string text = plural(grid.ranks.size(), "rank");
  if (grid.pp_size > 1) text += fmt::format(" in {} stages", grid.pp_size);
  for (const WorkerGrid::PlaceKind& kind : grid.places) {
    if (kind.name != "host") continue;
    const std::set<std::string> hosts(kind.of_worker.begin(), kind.of_worker.end());
    text += " on " + plural(hosts.size(), "host");
  }
  return text;
}

void write_numbers(Page& page, const Analysis& analysis) {
  const WhatIf& result = analysis.whatif;
  const WorkerGrid& grid = analysis.grid;
  const std::size_t ops = analysis.trace.ops_per_lane * static_cast<std::size_t>(grid.dp_size);
  page.line("{}: {} of {} ops, {}", analysis.job.trial_name, plural(result.steps.size(), "step"), ops,
            is_by_rank(grid) ? ranks_text(grid)
                             : fmt::format("DP {} x PP {}{}", grid.dp_size, grid.pp_size,
                                           grid.vpp_size > 1 ? fmt::format(" x VPP {}", grid.vpp_size) : ""));
  page.line("  slowdown S  {:>9.3f}   {:.1f} % of the time is lost to stragglers", result.slowdown,
            std::max(0.0, 100 * result.waste()));
  page.line("  mean step   {:>9.3f} s recorded", mean(result.base_s));
  page.line("              {:>9.3f} s replayed without launch delays ({:.1f} % off the recording)",
            mean(result.nodelay.span_s), 100 * result.discrepancy);
  page.line("              {:>9.3f} s ideal, without stragglers", result.ideal_span_s);
  const std::vector<std::size_t> by_slowdown = largest(result.step_slowdown, result.step_slowdown.size());
  const std::size_t best = by_slowdown.back();
  const std::size_t worst = by_slowdown.front();
  page.line("  per step    S from {:.3f} (step {}) to {:.3f} (step {})", result.step_slowdown[best],
            result.steps[best], result.step_slowdown[worst], result.steps[worst]);
  if (result.step_slowdown[best] < kFasterThanIdeal)
    page.line(
        "              S below 1: the step was faster than the ideal step, whose operations take their mean "
        "time");
  if (analysis.message_share >= kMessagesWorthALine)
    page.line(
        "  messages    {:>9.1f} % of the step goes to messages between stages; S does not include delays "
        "that all replicas share",
        100 * analysis.message_share);
  page.append(clock_text(analysis));
  if (result.discrepancy >= kTrustedDiscrepancy) {
    page.line(
        "  warning: the replay differs from the recording by {:.1f} % (5 % or more): the trace does not show",
        100 * result.discrepancy);
    page.line(
        "           some dependencies or launch delays that matter here; treat all results with caution");
  }
}

void write_contributors(Page& page, const std::string& heading, const std::vector<double>& slowdown,
                        const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::size_t i : largest(slowdown, kContributors)) {
    parts.push_back(fmt::format("{:.3f} {}", slowdown[i], names[i]));
  }
  page.line("  {:<9} {}", heading, fmt::join(parts, "   "));
}

std::vector<std::string> prefixed(const std::string& prefix, const std::vector<std::string>& labels) {
  std::vector<std::string> names;
  for (const std::string& label : labels) names.push_back(prefix + label);
  return names;
}

void write_attribution(Page& page, const Analysis& analysis) {
  const WhatIf& result = analysis.whatif;
  std::vector<std::string> workers;
  for (std::size_t w = 0; w < result.worker_slowdown.size(); ++w) {
    workers.push_back(worker_name(analysis.grid, w));
  }
  page.line("Slowdown caused by each part alone, with everything else ideal");
  write_contributors(page, "op type", result.blocking.by_optype.slowdown, result.blocking.by_optype.labels);
  if (!is_by_rank(analysis.grid) || analysis.grid.pp_size > 1)
    write_contributors(page, "stage", result.blocking.by_stage.slowdown,
                       prefixed("stage ", result.blocking.by_stage.labels));
  if (is_by_rank(analysis.grid)) return;  // which has a table of its ranks
  write_contributors(page, "dp rank", result.blocking.by_dp_rank.slowdown,
                     prefixed("dp ", result.blocking.by_dp_rank.labels));
  write_contributors(page, "worker", result.worker_slowdown, workers);
  if (result.launch) {
    page.blank();
    page.line("Slowdown if only one part of the job launched late (all parts together: {:.3f})",
              result.launch_slowdown);
    write_contributors(page, "op type", result.launch->by_optype.slowdown, result.launch->by_optype.labels);
    write_contributors(page, "stage", result.launch->by_stage.slowdown,
                       prefixed("stage ", result.launch->by_stage.labels));
    write_contributors(page, "dp rank", result.launch->by_dp_rank.slowdown,
                       prefixed("dp ", result.launch->by_dp_rank.labels));
  }
}

// The slowest ranks.
void write_ranks(Page& page, const Analysis& analysis) {
  constexpr std::size_t kRanks = 8;
  const WhatIf& result = analysis.whatif;
  page.line(
      "Slowest ranks: slowdown that each rank alone causes, and its extra work per step compared with the "
      "median of its peers");
  for (const std::size_t worker : largest(result.worker_slowdown, kRanks)) {
    const std::optional<double>& extra = analysis.rank_work->extra_s[worker];
    std::string places;
    for (const WorkerGrid::PlaceKind& kind : analysis.grid.places) {
      if (!kind.of_worker[worker].empty())
        places += fmt::format("  {} {}", kind.name, kind.of_worker[worker]);
    }
    if (analysis.grid.pp_size > 1) places += fmt::format("  stage {}", analysis.grid.worker(worker).stage);
    page.line("  {:<9} {:>6.3f}  {:>14}{}", worker_name(analysis.grid, worker),
              result.worker_slowdown[worker], extra ? fmt::format("{:+.1f} ms", 1e3 * *extra) : "no peers",
              places);
  }
  if (result.worker_slowdown.size() > kRanks)
    page.line("  {} more ranks (see --json)", result.worker_slowdown.size() - kRanks);
}

std::string fix_options(const RootCause& cause) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, cause.fix.size()); ++i)
    text += fmt::format("{}--fix '{}'", i > 0 ? " " : "", cause.fix[i]);
  if (cause.fix.size() > kShown) text += fmt::format(" and {} more (see --json)", cause.fix.size() - kShown);
  return text;
}

void write_likely(Page& page, const Analysis& analysis) {
  const auto count = std::ranges::count_if(analysis.causes, &RootCause::likely);
  if (count == 0) return;
  page.line("{} (gain: step time divided by step time with the fix)",
            count == 1 ? "Likely cause" : "Likely causes");
  for (const RootCause& cause : analysis.causes) {
    if (!cause.likely) continue;
    page.line("  {:<18} {:>6.3f}x  {}", cause.name, *cause.gain, cause.evidence);
    if (&cause != analysis.causes.data())  // whose advice is the second line
      page.line("  {:<18} {:>7}  {}", "", "", next_check(cause, analysis.grid));
    page.line("  {:<18} {:>7}  {}", "", "try", fix_options(cause));
  }
  if (count > 1)
    page.line("  Gains overlap, so they do not add up; repeat --fix to see their combined gain.");
  page.blank();
}

void write_ruled_out(Page& page, const Analysis& analysis, bool explains_all) {
  std::vector<std::string_view> names;
  for (const RootCause& cause : analysis.causes) {
    if (!cause.likely) names.push_back(plain_cause_name(cause.name));
  }
  if (names.empty()) return;
  if (!explains_all) {
    page.line("Ruled out: {} (--causes all shows why)", fmt::join(names, ", "));
    return;
  }
  page.line("Ruled out");
  for (const RootCause& cause : analysis.causes) {
    if (!cause.likely)
      page.line("  {:<18} {:>7}  {}", cause.name, cause.gain ? fmt::format("{:.3f}x", *cause.gain) : "",
                cause.reason);
  }
}

void write_interventions(Page& page, const Analysis& analysis) {
  if (analysis.interventions.empty()) return;
  page.blank();
  page.line("Interventions");
  for (const Intervention& intervention : analysis.interventions) {
    const bool fixes = !intervention.fix.empty();
    page.line("  {} {}: {:.3f} s per step, speedup {:.3f}x", fixes ? "fix" : "keep only",
              fmt::join(fixes ? intervention.fix : intervention.keep, " or "), intervention.jct_s,
              intervention.speedup);
  }
}

}  // namespace

Heatmap worker_heatmap(const Analysis& analysis) {
  Heatmap heatmap;
  heatmap.title = fmt::format("{}: slowdown caused by each worker alone", analysis.job.trial_name);
  heatmap.subtitle = fmt::format("all workers together: S = {:.3f}", analysis.whatif.slowdown);
  heatmap.dp = static_cast<std::size_t>(analysis.grid.dp_size);
  heatmap.pp = static_cast<std::size_t>(analysis.grid.pp_size);
  heatmap.slowdown = analysis.whatif.worker_slowdown;
  heatmap.worker_notes = worker_notes(analysis.grid);
  return heatmap;
}

std::string whatif_text(const Analysis& analysis, const WhatIfTextOptions& options) {
  Page page;
  page.line("{}", headline(analysis.verdict, analysis.whatif, analysis.message_share));
  if (analysis.verdict) page.line("Next: {}.", analysis.verdict->next_check);
  page.blank();
  write_numbers(page, analysis);
  page.blank();
  if (!analysis.cleaning.empty()) {
    page.append(cleaning_text(analysis.cleaning));
    page.blank();
  }
  write_likely(page, analysis);
  write_ruled_out(page, analysis, options.explains_all);
  write_interventions(page, analysis);
  page.blank();
  write_attribution(page, analysis);
  page.blank();
  if (is_by_rank(analysis.grid)) {
    write_ranks(page, analysis);
  } else {
    HeatmapTextOptions drawing;
    const Terminal& terminal = options.terminal;
    if (terminal.colour)
      drawing.colour = terminal.true_colour ? TerminalColour::k24Bit : TerminalColour::k256;
    drawing.width = terminal.width;
    drawing.marks_from = kSlowdownWorthExplaining;
    page.append(heatmap_text(worker_heatmap(analysis), drawing));
  }
  page.blank();
  page.line("To see the steps in Perfetto, add --timeline recorded.json.gz --ideal-timeline ideal.json.gz");
  return page.take();
}

}  // namespace goodput
