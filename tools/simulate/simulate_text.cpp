#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/job/time_bucket.h"
#include "tools/cli/text_table.h"
#include "tools/cli/unused_keys.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

constexpr std::size_t kWidth = 100;
constexpr double kShareWorthNaming = 0.0005;  // of any policy's time

// Whole numbers as they are, means with as many digits as mean something.
std::string count_text(double count) {
  if (count >= 1e9) return fmt::format("{:.4g} G", 1e-9 * count);
  if (count >= 1e7) return fmt::format("{:.4g} M", 1e-6 * count);
  if (count == std::floor(count) || count >= 100) return fmt::format("{:.0f}", count);
  return fmt::format("{:.1f}", count);
}

std::string duration_text(double seconds) {
  if (seconds < 180) return fmt::format("{:.1f} s", seconds);
  if (seconds < 3 * 3600) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 3 * 86400) return fmt::format("{:.2f} h", seconds / 3600);
  return fmt::format("{:.2f} days", seconds / 86400);
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

// "1234 ±0.5 %": half the interval, of the mean.
std::string with_error(const Estimate& estimate) {
  std::string text = count_text(estimate.mean);
  if (!estimate.interval || estimate.mean == 0) return text;
  const auto [low, high] = *estimate.interval;
  if (low == high) return text;  // the same in every trial
  return text + fmt::format(" ±{:.1f} %", 50 * (high - low) / estimate.mean);
}

// ---- What was run.

}  // namespace

std::string goal_text(const Scenario& scenario) {
  std::vector<std::string> goals;
  if (scenario.samples > 0) goals.push_back(count_text(static_cast<double>(scenario.samples)) + " samples");
  if (scenario.steps > 0) goals.push_back(count_text(static_cast<double>(scenario.steps)) + " steps");
  if (scenario.duration > SimDuration{})
    goals.push_back((goals.empty() ? "" : "at most ") + duration_text(to_seconds(scenario.duration)));
  return fmt::format("{}", fmt::join(goals, " or "));
}

namespace {

std::string header(const SimulateReport& report) {
  const Scenario& scenario = report.scenario;
  const ClusterSpec& cluster = scenario.plan.cluster;
  std::string text = fmt::format("{} on {} nodes x {} {}: {}", scenario.plan.model.name, cluster.nodes,
                                 cluster.gpus_per_node, cluster.gpu.name, goal_text(scenario));
  if (scenario.trials > 1) text += fmt::format(", {} trials", scenario.trials);
  text += "\nNodes: ";
  for (std::size_t i = 0; i < scenario.failures.size(); ++i) {
    const FailureModelInfo& model = scenario.failures[i].model();
    text += fmt::format("{}{} ({})", i == 0 ? "" : "\n       ", model.name, model.summary);
  }
  return text + "\n\n";
}

// ---- A row a policy.

struct Column {
  std::string_view title;
  std::string (*cell)(const PolicyOutcome& outcome);
};

std::string jct_cell(const PolicyOutcome& outcome) {
  if (outcome.jct_s) return duration_text(outcome.jct_s->mean);
  return outcome.finished == 0 ? "-" : fmt::format("{} of {}", outcome.finished, outcome.trials);
}

std::string cost_cell(const PolicyOutcome& outcome) {
  const double usd = outcome.cost_usd.mean;
  return usd < 1000 ? fmt::format("${:.2f}", usd) : "$" + count_text(usd);
}

// For nodes, so that its ETTR is not its goodput.
bool has_waited(const PolicyOutcome& outcome) {
  return outcome.ettr.mean - outcome.goodput.mean >= kShareWorthNaming;
}

std::vector<Column> columns_of(const SimulateReport& report) {
  std::vector<Column> columns = {
      {"samples", [](const PolicyOutcome& of) { return with_error(of.samples); }},
      {"steps", [](const PolicyOutcome& of) { return count_text(of.steps.mean); }},
      {"goodput", [](const PolicyOutcome& of) { return percent(of.goodput.mean); }},
      {"restarts", [](const PolicyOutcome& of) { return count_text(of.restarts.mean); }},
      {"reconfigured", [](const PolicyOutcome& of) { return count_text(of.reconfigurations.mean); }},
      {"grown", [](const PolicyOutcome& of) { return count_text(of.scale_ups.mean); }},
      {"steps lost", [](const PolicyOutcome& of) { return count_text(of.steps_lost.mean); }},
  };
  if (std::any_of(report.simulation.policies.begin(), report.simulation.policies.end(), has_waited)) {
    columns.insert(columns.begin() + 3,
                   Column{"ETTR", [](const PolicyOutcome& of) { return percent(of.ettr.mean); }});
  }
  if (report.scenario.samples > 0 || report.scenario.steps > 0)
    columns.insert(columns.begin() + 2, Column{"JCT", jct_cell});
  if (!report.inputs.prices.is_free()) columns.push_back({"cost", cost_cell});
  return columns;
}

std::string outcomes_text(const SimulateReport& report) {
  const std::vector<Column> columns = columns_of(report);
  std::vector<TextRow> rows = {{"policy"}};
  for (const Column& column : columns) rows.front().emplace_back(column.title);
  for (const PolicyOutcome& outcome : report.simulation.policies) {
    TextRow& row = rows.emplace_back(TextRow{outcome.name});
    for (const Column& column : columns) row.push_back(column.cell(outcome));
  }
  return aligned(rows);
}

// ---- Of the first policy to the others.

// With three digits that mean something.
std::string factor_text(double factor) {
  if (factor >= 100) return fmt::format("{:.0f}", factor);
  if (factor >= 10) return fmt::format("{:.1f}", factor);
  return factor >= 1 ? fmt::format("{:.2f}", factor) : fmt::format("{:.3f}", factor);
}

std::string ratio_cell(const std::optional<Estimate>& ratio) {
  if (!ratio) return "-";
  std::string text = factor_text(ratio->mean) + "x";
  if (!ratio->interval) return text;
  const auto [low, high] = *ratio->interval;
  return text + fmt::format(" ({} to {})", factor_text(low), factor_text(high));
}

std::string ratios_text(const Simulation& simulation) {
  if (simulation.policies.size() < 2) return "";
  const bool has_jct = std::any_of(simulation.ratios.begin(), simulation.ratios.end(),
                                   [](const PolicyRatio& ratio) { return ratio.jct_s.has_value(); });
  std::vector<TextRow> rows = {{"ratio", "samples"}};
  if (has_jct) rows.front().emplace_back("JCT");
  // Those of the first policy come first.
  for (std::size_t i = 0; i + 1 < simulation.policies.size(); ++i) {
    const PolicyRatio& ratio = simulation.ratios[i];
    TextRow& row = rows.emplace_back(TextRow{ratio.name, ratio_cell(ratio.samples)});
    if (has_jct) row.push_back(ratio_cell(ratio.jct_s));
  }
  return "\n" + aligned(rows);
}

// ---- Where the time went.

std::string name_for_people(std::string_view bucket) {
  std::string name(bucket);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

double share_of(const Estimate& time, const PolicyOutcome& outcome) {
  return outcome.wall_s.mean > 0 ? time.mean / outcome.wall_s.mean : 0;
}

double idle_share(const PolicyOutcome& outcome) {
  double all = 0;
  for (const Estimate& time : outcome.node_time_s) all += time.mean;
  return all > 0 ? outcome.node_time_s[index(TimeBucket::kIdleNode)].mean / all : 0;
}

using Outcomes = std::vector<const PolicyOutcome*>;

// Buckets in which some policy of all spent some time.
std::vector<std::size_t> buckets_shown(const Simulation& simulation) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
    const auto& all = simulation.policies;
    if (std::any_of(all.begin(), all.end(), [i](const PolicyOutcome& outcome) {
          return share_of(outcome.time_s[i], outcome) >= kShareWorthNaming;
        }))
      shown.push_back(i);
  }
  return shown;
}

std::string times_of(const Outcomes& outcomes, const std::vector<std::size_t>& buckets) {
  std::vector<TextRow> rows = {{"time of the job"}};
  for (const PolicyOutcome* outcome : outcomes) rows.front().push_back(outcome->name);
  for (const std::size_t i : buckets) {
    TextRow& row = rows.emplace_back(TextRow{name_for_people(kTimeBuckets[i].name)});
    for (const PolicyOutcome* outcome : outcomes) {
      const double share = share_of(outcome->time_s[i], *outcome);
      row.push_back(share > 0 ? percent(share) : "-");
    }
  }
  TextRow& idle = rows.emplace_back(TextRow{"nodes idle, of their time"});
  for (const PolicyOutcome* outcome : outcomes) idle.push_back(percent(idle_share(*outcome)));
  return "\n" + aligned(rows);
}

// As many policies side by side as fit the page.
std::string times_text(const Simulation& simulation) {
  const std::vector<std::size_t> buckets = buckets_shown(simulation);
  std::size_t label = 25;
  for (const std::size_t i : buckets) label = std::max(label, kTimeBuckets[i].name.size());
  std::string text;
  Outcomes block;
  std::size_t width = label;
  for (const PolicyOutcome& outcome : simulation.policies) {
    const std::size_t column = 2 + std::max<std::size_t>(7, outcome.name.size());
    if (!block.empty() && width + column > kWidth) {
      text += times_of(block, buckets);
      block.clear();
      width = label;
    }
    block.push_back(&outcome);
    width += column;
  }
  return text + times_of(block, buckets);
}

// ---- What else to know.

// Each once, with all policies that it is about.
std::string warnings_text(const Simulation& simulation) {
  std::vector<std::pair<std::string, std::string>> warnings;  // and whose
  for (const PolicyOutcome& outcome : simulation.policies) {
    for (const std::string& warning : outcome.warnings) {
      const auto same = std::find_if(warnings.begin(), warnings.end(),
                                     [&warning](const auto& known) { return known.first == warning; });
      if (same != warnings.end()) {
        same->second += ", " + outcome.name;
      } else {
        warnings.emplace_back(warning, outcome.name);
      }
    }
  }
  std::string text;
  for (const auto& [warning, names] : warnings) text += fmt::format("warning: {}: {}\n", names, warning);
  return text;
}

std::string remarks(const SimulateReport& report) {
  std::string text;
  for (const PolicyOutcome& outcome : report.simulation.policies) {
    for (const auto& [reason, trials] : outcome.stopped) {
      text += fmt::format("{} stopped{}: {}\n", outcome.name,
                          outcome.trials > 1 ? fmt::format(" ({} of {} trials)", trials, outcome.trials) : "",
                          reason);
    }
  }
  text += warnings_text(report.simulation);
  text += unused_keys_text(unused_keys(report.scenario), report.scenario.file);
  for (const ScenarioFile& file : report.inputs.files)
    text += fmt::format("{}: {}{}\n", file.pointer, file.used, file.is_fallback() ? " (fallback)" : "");
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string simulate_text(const SimulateReport& report) {
  const Simulation& simulation = report.simulation;
  std::string text = header(report) + outcomes_text(report) + ratios_text(simulation) +
                     times_text(simulation) + remarks(report);
  const bool has_intervals = report.scenario.trials > 1;
  if (has_intervals) text += "\nMeans over trials; ± and intervals: 95 % of the mean\n";
  return text +
         fmt::format("{}Lowest tier: {}\n", has_intervals ? "" : "\n", to_string(simulation.lowest_tier));
}

}  // namespace goodput
