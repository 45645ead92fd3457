#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "sim/base/append.h"
#include "sim/base/statistics.h"
#include "tools/chart/heatmap.h"
#include "tools/trace/cleaning_report.h"
#include "tools/whatif/cause_advice.h"
#include "tools/whatif/clock_report.h"
#include "tools/whatif/whatif_by_step.h"
#include "tools/whatif/whatif_report.h"

namespace goodput {
namespace {

constexpr double kTrustedDiscrepancy = 0.05;  // the paper drops jobs that replay worse than this
constexpr std::size_t kContributors = 3;

// A page of text, built line by line.
class Page {
 public:
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    goodput::append(text_, format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }
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

void write_headline(Page& page, const WhatIfReport& report) {
  const auto& [loaded, result, causes, interventions, pace, threshold] = report;
  const Recording& recording = loaded.recording;
  page.line("{}: {} of {} ops, DP {} x PP {}{}", loaded.job.trial_name, plural(result.steps.size(), "step"),
            recording.ops.size() * static_cast<std::size_t>(recording.dp_size), recording.dp_size,
            recording.pp_size, recording.vpp_size > 1 ? fmt::format(" x VPP {}", recording.vpp_size) : "");
  page.blank();
  const double launch_share = 1 - mean(result.nodelay.span_s) / mean(result.base_s);
  if (launch_share > std::max(result.waste(), 1 - 1 / kSlowdownWorthExplaining)) {
    page.line("Late launches cost this job {:.1f} % of its time.", 100 * launch_share);
  }
  if (result.slowdown < kSlowdownWorthExplaining) {
    page.line("Stragglers cost this job next to nothing: slowdown S = {:.3f}.", result.slowdown);
  } else {
    page.line("Stragglers slow this job {:.2f}x (S = {:.3f}): {:.1f} % of its time is wasted.",
              result.slowdown, result.slowdown, 100 * result.waste());
  }
  page.line("  mean step   {:>9.3f} s recorded", mean(result.base_s));
  page.line("              {:>9.3f} s replayed without launch delays (replay differs by {:.1f} %)",
            mean(result.nodelay.span_s), 100 * result.discrepancy);
  page.line("              {:>9.3f} s if no op were slower than ideal", result.ideal_span_s);
  const std::vector<std::size_t> by_slowdown = largest(result.step_slowdown, result.step_slowdown.size());
  const std::size_t best = by_slowdown.back();
  const std::size_t worst = by_slowdown.front();
  page.line("  per step    S from {:.3f} (step {}) to {:.3f} (step {})", result.step_slowdown[best],
            result.steps[best], result.step_slowdown[worst], result.steps[worst]);
  page.append(clock_text(report.loaded));
  if (result.discrepancy >= kTrustedDiscrepancy) {
    page.line(
        "  warning: the replay differs from the recording by {:.1f} % (5 % or more): dependencies or launch",
        100 * result.discrepancy);
    page.line("           delays that the trace does not show matter here; read the figures below with care");
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

void write_attribution(Page& page, const WhatIfReport& report) {
  const WhatIf& result = report.result;
  std::vector<std::string> workers;
  for (std::size_t w = 0; w < result.worker_slowdown.size(); ++w) {
    workers.push_back(worker_name(report.loaded.recording, w));
  }
  page.line("Slowdown that each part alone causes, all else ideal");
  write_contributors(page, "op type", result.blocking.by_optype.slowdown, result.blocking.by_optype.labels);
  write_contributors(page, "stage", result.blocking.by_stage.slowdown,
                     prefixed("stage ", result.blocking.by_stage.labels));
  write_contributors(page, "dp rank", result.blocking.by_dp_rank.slowdown,
                     prefixed("dp ", result.blocking.by_dp_rank.labels));
  write_contributors(page, "worker", result.worker_slowdown, workers);
  if (result.launch) {
    page.blank();
    page.line("Slowdown that late launches of each part alone cause (all: {:.3f})", result.launch_slowdown);
    write_contributors(page, "op type", result.launch->by_optype.slowdown, result.launch->by_optype.labels);
    write_contributors(page, "stage", result.launch->by_stage.slowdown,
                       prefixed("stage ", result.launch->by_stage.labels));
    write_contributors(page, "dp rank", result.launch->by_dp_rank.slowdown,
                       prefixed("dp ", result.launch->by_dp_rank.labels));
  }
}

std::string gain_text(const RootCause& cause) {
  return cause.gain ? fmt::format("{:.3f}x", *cause.gain) : "n/a";
}

std::string fix_options(const RootCause& cause) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, cause.fix.size()); ++i)
    text += fmt::format("{}--fix '{}'", i > 0 ? " " : "", cause.fix[i]);
  if (cause.fix.size() > kShown) text += fmt::format(" and {} more (--json)", cause.fix.size() - kShown);
  return text;
}

void write_meaning(Page& page, const WhatIfReport& report) {
  page.line(
      "What it means: causes by what their fix gains (step time as it is, over step time with the fix)");
  for (const RootCause& cause : report.causes) {
    if (cause.likely) {
      page.line("  -> {:<18} {:>7}  {}", cause.name, gain_text(cause), cause.evidence);
    } else {
      page.line("     {:<18} {:>7}  not likely because {}", cause.name, gain_text(cause), cause.reason);
    }
  }
}

void write_next_steps(Page& page, const WhatIfReport& report) {
  page.line("What to look at next");
  bool any = false;
  for (const RootCause& cause : report.causes) {
    if (!cause.likely) continue;
    page.line("  - {}", advice(cause, report.loaded.recording));
    page.line("    {:.3f}x: {}", *cause.gain, fix_options(cause));
    any = true;
  }
  const auto& by_type = report.result.blocking.by_optype;
  const std::size_t top = largest(by_type.slowdown, 1).front();
  if (!any && report.result.slowdown >= kSlowdownWorthExplaining) {
    page.line("  - no single cause explains the loss; {} costs most ({:.3f}x alone)", by_type.labels[top],
              by_type.slowdown[top]);
  }
  page.line(
      "  - the steps themselves, in Perfetto: --timeline recorded.json.gz --ideal-timeline ideal.json.gz");
}

void write_interventions(Page& page, const WhatIfReport& report) {
  if (report.interventions.empty()) return;
  page.blank();
  page.line("Interventions");
  for (const Intervention& intervention : report.interventions) {
    const bool fixes = !intervention.fix.empty();
    page.line("  {} {}: {:.3f} s a step, speed-up {:.3f}x", fixes ? "fix" : "keep only",
              fmt::join(fixes ? intervention.fix : intervention.keep, " or "), intervention.jct_s,
              intervention.speedup);
  }
}

}  // namespace

Heatmap worker_heatmap(const WhatIfReport& report) {
  const Recording& recording = report.loaded.recording;
  Heatmap heatmap;
  heatmap.title = fmt::format("{}: slowdown that each worker alone causes", report.loaded.job.trial_name);
  heatmap.subtitle = fmt::format("all of them together: S = {:.3f}", report.result.slowdown);
  heatmap.dp = static_cast<std::size_t>(recording.dp_size);
  heatmap.pp = static_cast<std::size_t>(recording.pp_size);
  heatmap.slowdown = report.result.worker_slowdown;
  heatmap.worker_notes = worker_notes(recording);
  return heatmap;
}

std::string whatif_text(const WhatIfReport& report, const Terminal& terminal) {
  Page page;
  write_headline(page, report);
  page.blank();
  if (!report.loaded.cleaning.empty()) {
    page.append(cleaning_text(report.loaded.cleaning));
    page.blank();
  }
  write_attribution(page, report);
  page.blank();
  HeatmapTextOptions options;
  if (terminal.colour) options.colour = terminal.true_colour ? TerminalColour::k24Bit : TerminalColour::k256;
  options.width = terminal.width;
  options.marks_from = kSlowdownWorthExplaining;
  page.append(heatmap_text(worker_heatmap(report), options));
  page.blank();
  write_meaning(page, report);
  page.blank();
  write_next_steps(page, report);
  write_interventions(page, report);
  return page.take();
}

}  // namespace goodput
