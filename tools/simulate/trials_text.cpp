// How single trials scatter, and in how many the goal is reached by the deadline: what the means of
// `goodput simulate` do not tell.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/cli/duration_text.h"
#include "tools/cli/text_table.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

constexpr std::int64_t kEnoughTrials = 20;  // of fewer, nineteen of twenty is all of them
constexpr double kScatterWorthNaming = 0.01;
constexpr std::int64_t kManyTrials = 1000;  // a tenth of a percent is a trial

using TrialsCell = std::function<std::string(const PolicyOutcome&)>;
struct TrialsColumn {
  std::string title;
  TrialsCell cell;
};

bool is_run(const PolicyOutcome& outcome) {
  return outcome.refused.empty();
}

std::string deadline_cell(const PolicyOutcome& outcome) {
  const std::optional<Estimate>& share = outcome.estimate(TrialMetric::kDeadline);
  if (!share)
    return fmt::format("{} of {}, {} unknown", outcome.deadline->met, outcome.trials,
                       outcome.deadline->unknown);
  if (!share->interval) return fmt::format("{} of {}", outcome.deadline->met, outcome.trials);
  const int digits = outcome.trials >= kManyTrials ? 1 : 0;
  const auto [low, high] = *share->interval;
  return fmt::format("{:.{}f} % ({:.{}f} to {:.{}f})", 100 * share->mean, digits, 100 * low, digits,
                     100 * high, digits);
}

TrialsCell quantile_cell(TrialMetric metric, std::size_t quantile) {
  return [=](const PolicyOutcome& outcome) {
    const auto found = outcome.quantiles.find(metric);
    return found == outcome.quantiles.end() ? "-" : metric_text(metric, found->second[quantile].mean);
  };
}

// Where some policy's trials scatter enough.
void add_quantiles(TrialMetric metric, std::string_view title, std::span<const std::size_t> quantiles,
                   const Simulation& simulation, std::vector<TrialsColumn>& columns) {
  const auto scatters = [&](const PolicyOutcome& outcome) {
    const auto found = outcome.quantiles.find(metric);
    if (found == outcome.quantiles.end() || outcome.trials < kEnoughTrials) return false;
    const double least = found->second[quantiles.front()].mean;
    return found->second[quantiles.back()].mean - least > kScatterWorthNaming * least;
  };
  if (std::none_of(simulation.policies.begin(), simulation.policies.end(), scatters)) return;
  for (const std::size_t quantile : quantiles)
    columns.push_back(
        {fmt::format("{} {}", title, kQuantileNames[quantile]), quantile_cell(metric, quantile)});
}

std::vector<TrialsColumn> trials_columns(const SimulateReport& report) {
  constexpr std::array<std::size_t, 2> kP10AndP90 = {0, 2};
  constexpr std::array<std::size_t, 2> kP50AndP95 = {1, 3};
  const Simulation& simulation = report.simulation;
  const Scenario& scenario = report.scenario;
  std::vector<TrialsColumn> columns;
  if (scenario.deadline > SimDuration{})
    columns.push_back({"within " + duration_text(to_seconds(scenario.deadline)), deadline_cell});
  if (scenario.has_goal()) {
    add_quantiles(TrialMetric::kJct, "JCT", kP50AndP95, simulation, columns);
  } else {
    add_quantiles(TrialMetric::kSamples, "samples", kP10AndP90, simulation, columns);
  }
  add_quantiles(TrialMetric::kCost, "cost", kP50AndP95, simulation, columns);
  return columns;
}

}  // namespace

std::string trials_text(const SimulateReport& report) {
  const std::vector<TrialsColumn> columns = trials_columns(report);
  if (columns.empty()) return "";
  const std::int64_t trials = report.scenario.trials;
  std::vector<TextRow> rows = {{trials == 1 ? "1 trial" : fmt::format("{} trials", trials)}};
  for (const TrialsColumn& column : columns) rows.front().push_back(column.title);
  for (const PolicyOutcome& outcome : report.simulation.policies) {
    if (!is_run(outcome)) continue;
    TextRow& row = rows.emplace_back(TextRow{outcome.name});
    for (const TrialsColumn& column : columns) row.push_back(column.cell(outcome));
  }
  return "\n" + aligned(rows);
}

}  // namespace goodput
