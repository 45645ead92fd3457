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
#include "tools/cli/duration_text.h"
#include "tools/cli/key_notes.h"
#include "tools/cli/text_table.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {

// Whole numbers as they are, means with as many digits as mean something.
std::string count_text(double count) {
  if (count >= 1e12) return fmt::format("{:.4g} T", 1e-12 * count);
  if (count >= 1e9) return fmt::format("{:.4g} G", 1e-9 * count);
  if (count >= 1e7) return fmt::format("{:.4g} M", 1e-6 * count);
  if (count == std::floor(count) || count >= 100) return fmt::format("{:.0f}", count);
  return fmt::format("{:.1f}", count);
}

namespace {

constexpr std::size_t kWidth = 100;
constexpr double kShareWorthNaming = 0.0005;  // of any policy's time

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string usd_text(double usd) {
  return usd < 1000 ? fmt::format("${:.2f}", usd) : "$" + count_text(usd);
}

// "1234 ±0.5 %": half the interval, of the mean; one that ends at 0 is not as wide on both sides.
std::string with_error(const Estimate& estimate) {
  std::string text = count_text(estimate.mean);
  if (!estimate.interval || estimate.mean == 0) return text;
  const auto [low, high] = *estimate.interval;
  if (low == high) return text;  // the same in every trial
  if (low == 0) return text + fmt::format(" (0 to {})", count_text(high));
  return text + fmt::format(" ±{:.1f} %", 50 * (high - low) / estimate.mean);
}

}  // namespace

std::string metric_text(TrialMetric metric, double value) {
  switch (metric) {
    case TrialMetric::kJct:
    case TrialMetric::kWall:
      return duration_text(value);
    case TrialMetric::kDeadline:
    case TrialMetric::kGoodput:
    case TrialMetric::kEttr:
    case TrialMetric::kRunningGoodput:
    case TrialMetric::kEfficiency:
      return percent(value);
    case TrialMetric::kCost:
      return usd_text(value);
    default:
      return count_text(value);
  }
}

namespace {

// ---- What was run.

// "1 T tokens (244.1 M samples of 4096)": what is counted is samples.
std::string tokens_text(const Scenario& scenario) {
  return fmt::format("{} tokens ({} samples of {} tokens)", count_text(static_cast<double>(scenario.tokens)),
                     count_text(static_cast<double>(scenario.samples_of_tokens())),
                     scenario.plan.parallel.sequence_length);
}

}  // namespace

std::string goal_text(const Scenario& scenario) {
  std::vector<std::string> goals;
  if (scenario.samples > 0) goals.push_back(count_text(static_cast<double>(scenario.samples)) + " samples");
  if (scenario.tokens > 0) goals.push_back(tokens_text(scenario));
  if (scenario.steps > 0) goals.push_back(count_text(static_cast<double>(scenario.steps)) + " steps");
  if (scenario.duration > SimDuration{})
    goals.push_back((goals.empty() ? "" : "at most ") + duration_text(to_seconds(scenario.duration)));
  return fmt::format("{}", fmt::join(goals, " or "));
}

namespace {

std::string batch_text(const Scenario& scenario) {
  const std::int64_t samples = StepBatch(scenario.plan.parallel, scenario.batch).samples(1);
  if (scenario.batch == BatchRule::kFixed)
    return fmt::format("{} samples per step, for any number of nodes (fixed)", samples);
  return fmt::format(
      "{} samples per replica and step; the total changes with the number of nodes (per_replica)", samples);
}

// "32 nodes at $98.00 an hour, reserved". A recording has more names of nodes than nodes at a time.
std::string pool_text(const PoolView& pool, const PricedNodes& priced) {
  const bool is_recorded =
      std::any_of(pool.failures.begin(), pool.failures.end(), [](const FailureConfig& failures) {
        const auto file = failures.setup().file();
        return file && file->content == FailureFile::Content::kRecording;
      });
  const bool is_counted = !is_recorded || pool.billing == Billing::kReserved;
  const std::string nodes = is_counted ? fmt::format("{} nodes", priced.reserved()) : "recorded nodes";
  const std::string price =
      pool.usd_per_node_hour ? usd_text(*pool.usd_per_node_hour) + " per hour" : "recorded prices";
  return fmt::format("{} at {}, {}", nodes, price, kBillingNames[static_cast<std::size_t>(pool.billing)]);
}

// A line a failure model; those of pools after what the pool is.
std::string nodes_text(const SimulateReport& report) {
  std::vector<std::string> lines;
  const std::vector<PoolView> pools = pools_of(report.scenario);
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const bool is_named = !pools[i].name.empty();
    if (is_named)
      lines.push_back(fmt::format("{}: {}", pools[i].name, pool_text(pools[i], report.inputs.pools[i])));
    for (const FailureConfig& failures : pools[i].failures) {
      const FailureModelInfo& model = failures.model();
      lines.push_back(fmt::format("{}{} ({})", is_named ? "  " : "", model.name, model.summary));
    }
  }
  return fmt::format("{}", fmt::join(lines, "\n       "));
}

std::string header(const SimulateReport& report) {
  const Scenario& scenario = report.scenario;
  const ClusterSpec& cluster = scenario.plan.cluster;
  std::string text =
      fmt::format("{} on {} nodes x {} {}: {}", scenario.plan.model.name, scenario.most_nodes(),
                  cluster.gpus_per_node, cluster.gpu.name, goal_text(scenario));
  if (scenario.trials > 1) text += fmt::format(", {} trials", scenario.trials);
  return text + "\nBatch: " + batch_text(scenario) + "\nNodes: " + nodes_text(report) + "\n\n";
}

// ---- A row a policy.

struct Column {
  std::string_view title;
  std::string (*cell)(const PolicyOutcome& outcome);
};

template <TrialMetric kMetric>
std::string cell(const PolicyOutcome& outcome) {
  const std::optional<Estimate>& estimate = outcome.estimate(kMetric);
  return estimate ? metric_text(kMetric, estimate->mean) : "-";
}

std::string samples_cell(const PolicyOutcome& outcome) {
  const std::optional<Estimate>& samples = outcome.estimate(TrialMetric::kSamples);
  return samples ? with_error(*samples) : "cannot run";
}

// Of runs that were cut short the mean is above that of the time they had.
std::string jct_cell(const PolicyOutcome& outcome) {
  if (outcome.estimate(TrialMetric::kJct)) return cell<TrialMetric::kJct>(outcome);
  if (outcome.trials == 0) return "-";
  const std::string done = fmt::format("{} of {}", outcome.finished, outcome.trials);
  return outcome.least_jct_s ? fmt::format("> {} ({})", duration_text(*outcome.least_jct_s), done) : done;
}

// For nodes, so that its time without that is worth a column.
bool has_waited(const PolicyOutcome& outcome) {
  const auto& running = outcome.estimate(TrialMetric::kRunningGoodput);
  return running && running->mean - outcome.mean(TrialMetric::kGoodput) >= kShareWorthNaming;
}

std::vector<Column> columns_of(const SimulateReport& report) {
  std::vector<Column> columns = {{"samples", samples_cell}};
  if (report.scenario.has_goal()) columns.push_back({"JCT", jct_cell});
  columns.push_back({"samples/h", cell<TrialMetric::kSamplesPerHour>});
  columns.push_back({"goodput", cell<TrialMetric::kGoodput>});
  if (std::any_of(report.simulation.policies.begin(), report.simulation.policies.end(), has_waited))
    columns.push_back({"running goodput", cell<TrialMetric::kRunningGoodput>});
  columns.push_back({"efficiency", cell<TrialMetric::kEfficiency>});
  if (has_price(report.scenario, report.inputs.view())) {
    columns.push_back({"cost", cell<TrialMetric::kCost>});
    columns.push_back({"samples/$", cell<TrialMetric::kSamplesPerUsd>});
  }
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

std::string jct_ratio_cell(const PolicyRatio& ratio) {
  if (ratio.jct_above) return fmt::format("> {}x", factor_text(*ratio.jct_above));
  if (ratio.jct_below) return fmt::format("< {}x", factor_text(*ratio.jct_below));
  return ratio_cell(ratio.jct_s);
}

struct RatioColumn {
  std::string_view title;
  std::string (*cell)(const PolicyRatio& ratio);
};

// Of a job with a goal: samples do not tell how long they took.
std::vector<RatioColumn> ratio_columns(const SimulateReport& report) {
  std::vector<RatioColumn> columns;
  if (report.scenario.has_goal()) {
    columns.push_back({"samples/h", [](const PolicyRatio& of) { return ratio_cell(of.samples_per_hour); }});
    columns.push_back({"JCT", jct_ratio_cell});
  } else {
    columns.push_back({"samples", [](const PolicyRatio& of) { return ratio_cell(of.samples); }});
  }
  if (has_price(report.scenario, report.inputs.view()))
    columns.push_back({"cost per sample", [](const PolicyRatio& of) { return ratio_cell(of.cost); }});
  return columns;
}

// Those of the first policy that runs come first.
std::string ratios_text(const SimulateReport& report) {
  const Simulation& simulation = report.simulation;
  const auto running = std::count_if(simulation.policies.begin(), simulation.policies.end(),
                                     [](const PolicyOutcome& outcome) { return outcome.refused.empty(); });
  if (running < 2) return "";
  const std::vector<RatioColumn> columns = ratio_columns(report);
  std::vector<TextRow> rows = {{"ratio"}};
  for (const RatioColumn& column : columns) rows.front().emplace_back(column.title);
  for (std::ptrdiff_t i = 0; i + 1 < running; ++i) {
    const PolicyRatio& ratio = simulation.ratios[static_cast<std::size_t>(i)];
    TextRow& row = rows.emplace_back(TextRow{ratio.name});
    for (const RatioColumn& column : columns) row.push_back(column.cell(ratio));
  }
  return "\n" + aligned(rows);
}

// ---- Two policies by one metric.

std::string verdict_text(const PolicyComparison& comparison) {
  const PairedComparison& values = *comparison.values;
  const std::string_view doubt =
      values.difference.is_doubtful ? ", but the trials are too few or too skewed to be sure" : "";
  if (values.decides) return fmt::format("{} is better{}", comparison.better(), doubt);
  if (values.difference.mean == 0) return "no difference";
  if (values.more_trials) return fmt::format("undecided; {} more trials are needed", *values.more_trials);
  return "undecided; a single trial has no confidence interval";
}

// Differences may be smaller than what tables show.
std::string fine_text(TrialMetric metric, double value) {
  if (metric == TrialMetric::kCost && value < 1) return fmt::format("${:.4f}", value);
  std::string text = metric_text(metric, value);
  const bool is_share = metric == TrialMetric::kGoodput || metric == TrialMetric::kEttr ||
                        metric == TrialMetric::kRunningGoodput || metric == TrialMetric::kEfficiency;
  return is_share && value < 0.01 ? fmt::format("{:.4f} %", 100 * value) : text;
}

std::string comparison_text(const SimulateReport& report) {
  if (!report.comparison) return "";
  const PolicyComparison& comparison = *report.comparison;
  const std::string_view name = info(comparison.metric).name;
  if (!comparison.values) return fmt::format("\n{} cannot be compared: {}\n", name, comparison.why_not);
  const PairedComparison& values = *comparison.values;
  const auto text = [&](double value) {
    return (value < 0 ? "-" : "") + fine_text(comparison.metric, std::abs(value));
  };
  std::string interval;
  if (values.difference.interval) {
    const auto [low, high] = *values.difference.interval;
    interval = fmt::format(" ({} to {})", text(low), text(high));
  }
  return fmt::format("\n{}: {} {}, {} {}, difference {}{}: {}\n", name, comparison.a, text(values.a.mean),
                     comparison.b, text(values.b.mean), text(values.difference.mean), interval,
                     verdict_text(comparison));
}

// ---- Where the time went.

std::string name_for_people(std::string_view bucket) {
  std::string name(bucket);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

double share_of(const Estimate& time, const PolicyOutcome& outcome) {
  const std::optional<Estimate>& wall = outcome.estimate(TrialMetric::kWall);
  return wall && wall->mean > 0 ? time.mean / wall->mean : 0;
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

// What happened in a run. Of what never did there is no row, but of restarts.
struct EventRow {
  std::string_view title;
  TrialMetric metric;
};
constexpr std::array kEventRows = {EventRow{"steps", TrialMetric::kSteps},
                                   EventRow{"restarts", TrialMetric::kRestarts},
                                   EventRow{"reconfigurations", TrialMetric::kReconfigurations},
                                   EventRow{"scale-ups", TrialMetric::kScaleUps},
                                   EventRow{"rebalancings", TrialMetric::kRebalancings},
                                   EventRow{"nodes lost", TrialMetric::kNodesLost},
                                   EventRow{"steps lost", TrialMetric::kStepsLost},
                                   EventRow{"checkpoints skipped", TrialMetric::kSavesSkipped}};

bool happened(const Simulation& simulation, TrialMetric metric) {
  return std::any_of(simulation.policies.begin(), simulation.policies.end(),
                     [&](const PolicyOutcome& of) { return of.refused.empty() && of.mean(metric) > 0; });
}

// What the nodes of each pool cost in a run.
std::string costs_of(const Scenario& scenario, const Outcomes& outcomes) {
  if (outcomes.front()->cost_by_pool.empty()) return "";
  std::vector<TextRow> rows = {{"node cost by pool"}};
  for (const PolicyOutcome* outcome : outcomes) rows.front().push_back(outcome->name);
  for (std::size_t i = 0; i < scenario.pools.size(); ++i) {
    TextRow& row = rows.emplace_back(TextRow{scenario.pools[i].name});
    for (const PolicyOutcome* outcome : outcomes) row.push_back(usd_text(outcome->cost_by_pool[i].mean));
  }
  return "\n" + aligned(rows);
}

// Of policies with partial checkpoints; empty: there are none.
TextRow lost_tokens_of(const Outcomes& outcomes) {
  TextRow row = {"tokens lost (PLT)"};
  bool is_known = false;
  for (const PolicyOutcome* outcome : outcomes) {
    const auto plt = outcome->metrics.find("plt");
    is_known = is_known || plt != outcome->metrics.end();
    row.push_back(plt == outcome->metrics.end() ? "-" : fmt::format("{:.2f} %", 100 * plt->second.mean));
  }
  return is_known ? row : TextRow{};
}

std::string events_of(const Simulation& simulation, const Outcomes& outcomes) {
  std::vector<TextRow> rows = {{"per run"}};
  for (const PolicyOutcome* outcome : outcomes) rows.front().push_back(outcome->name);
  for (const EventRow& event : kEventRows) {
    if (event.metric != TrialMetric::kRestarts && !happened(simulation, event.metric)) continue;
    TextRow& row = rows.emplace_back(TextRow{std::string(event.title)});
    for (const PolicyOutcome* outcome : outcomes) row.push_back(count_text(outcome->mean(event.metric)));
  }
  if (TextRow row = lost_tokens_of(outcomes); !row.empty()) rows.push_back(std::move(row));
  return "\n" + aligned(rows);
}

std::string times_of(const SimulateReport& report, const Outcomes& outcomes,
                     const std::vector<std::size_t>& buckets) {
  std::vector<TextRow> rows = {{"share of job time"}};
  for (const PolicyOutcome* outcome : outcomes) rows.front().push_back(outcome->name);
  for (const std::size_t i : buckets) {
    TextRow& row = rows.emplace_back(TextRow{name_for_people(kTimeBuckets[i].name)});
    for (const PolicyOutcome* outcome : outcomes) {
      const double share = share_of(outcome->time_s[i], *outcome);
      row.push_back(share > 0 ? percent(share) : "-");
    }
  }
  TextRow& idle = rows.emplace_back(TextRow{"idle share of node time"});
  for (const PolicyOutcome* outcome : outcomes) idle.push_back(percent(idle_share(*outcome)));
  return "\n" + aligned(rows) + events_of(report.simulation, outcomes) + costs_of(report.scenario, outcomes);
}

// As many policies side by side as fit the page.
std::string times_text(const SimulateReport& report) {
  const Simulation& simulation = report.simulation;
  const std::vector<std::size_t> buckets = buckets_shown(simulation);
  std::size_t label = 25;
  for (const std::size_t i : buckets) label = std::max(label, kTimeBuckets[i].name.size());
  std::string text;
  Outcomes block;
  std::size_t width = label;
  for (const PolicyOutcome& outcome : simulation.policies) {
    if (!outcome.refused.empty()) continue;
    const std::size_t column = 2 + std::max<std::size_t>(7, outcome.name.size());
    if (!block.empty() && width + column > kWidth) {
      text += times_of(report, block, buckets);
      block.clear();
      width = label;
    }
    block.push_back(&outcome);
    width += column;
  }
  return text + times_of(report, block, buckets);
}

}  // namespace

std::string simulate_text(const SimulateReport& report) {
  const Simulation& simulation = report.simulation;
  std::string text = simulate_headline(simulation) + "\n\n" + header(report) + outcomes_text(report) +
                     trials_text(report) + ratios_text(report) + comparison_text(report) +
                     times_text(report) + simulate_remarks(report);
  const bool has_intervals = report.scenario.trials > 1;
  if (has_intervals) text += "\nValues are means over the trials; ± and intervals are at 95 % confidence\n";
  return text +
         fmt::format("{}Lowest tier: {}\n", has_intervals ? "" : "\n", to_string(simulation.lowest_tier));
}

}  // namespace goodput
