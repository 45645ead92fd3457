#include "tools/simulate/trial_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/job/time_bucket.h"
#include "tools/simulate/csv_field.h"

namespace goodput {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kBlockBytes = 1 << 16;

// A number of every trial, or of those that have it.
struct NumberColumn {
  std::string name;
  std::function<std::optional<double>(const TrialSummary&)> of;
};

std::optional<double> own_metric(const TrialSummary& trial, std::string_view name) {
  const auto found = std::find_if(trial.metrics.begin(), trial.metrics.end(),
                                  [name](const PolicyMetric& metric) { return metric.name == name; });
  return found == trial.metrics.end() ? std::nullopt : std::optional(found->value);
}

// Of any of the policies, in the order in which they come up.
std::vector<std::string> own_metrics(const Simulation& simulation) {
  std::vector<std::string> names;
  for (const std::vector<TrialSummary>& trials : simulation.trials) {
    if (trials.empty()) continue;
    for (const PolicyMetric& metric : trials.front().metrics) {
      if (std::find(names.begin(), names.end(), metric.name) == names.end()) names.emplace_back(metric.name);
    }
  }
  return names;
}

// `own`: metrics of the policies' own.
std::vector<NumberColumn> number_columns(const std::vector<std::string>& own) {
  std::vector<NumberColumn> columns;
  for (std::size_t i = 0; i < kTrialMetrics.size(); ++i) {
    const auto metric = static_cast<TrialMetric>(i);
    columns.push_back({std::string(info(metric).name),
                       [metric](const TrialSummary& trial) { return value_of(metric, trial); }});
  }
  columns.push_back({"horizon_s", [](const TrialSummary& trial) { return trial.horizon_s; }});
  columns.push_back({"waited_s", [](const TrialSummary& trial) { return std::optional(trial.waited_s); }});
  columns.push_back({"node_s", [](const TrialSummary& trial) { return std::optional(trial.paid_node_s()); }});
  columns.push_back(
      {"ideal_node_s", [](const TrialSummary& trial) { return std::optional(trial.ideal_node_s); }});
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
    columns.push_back({fmt::format("{}_s", kTimeBuckets[i].name),
                       [i](const TrialSummary& trial) { return std::optional(trial.time_s[i]); }});
  }
  for (const std::string& name : own) {
    columns.push_back({name, [name](const TrialSummary& trial) { return own_metric(trial, name); }});
  }
  return columns;
}

void add_row(std::string_view policy, std::size_t number, std::uint64_t seed, const TrialSummary& trial,
             const std::vector<NumberColumn>& columns, std::string& csv) {
  fmt::format_to(std::back_inserter(csv), "{},{},{},{},{}", policy, number, seed, trial.finished ? 1 : 0,
                 csv_field(trial.stopped));
  for (const NumberColumn& column : columns) {
    csv += ',';
    if (const std::optional<double> value = column.of(trial))
      fmt::format_to(std::back_inserter(csv), "{}", *value);
  }
  csv += '\n';
}

template <typename Of>
ordered_json column_json(const std::vector<TrialSummary>& trials, Of of) {
  ordered_json::array_t values;
  values.reserve(trials.size());
  for (const TrialSummary& trial : trials) values.push_back(of(trial));
  return ordered_json(std::move(values));
}

}  // namespace

Status write_trials_csv(const Simulation& simulation, std::uint64_t seed,
                        const std::function<Status(std::string_view)>& write) {
  const std::vector<NumberColumn> columns = number_columns(own_metrics(simulation));
  std::string csv = "policy,trial,seed,finished,stopped";
  for (const NumberColumn& column : columns) csv += "," + column.name;
  csv += '\n';
  for (std::size_t i = 0; i < simulation.policies.size(); ++i) {
    const std::string policy = csv_field(simulation.policies[i].name);
    const std::vector<TrialSummary>& trials = simulation.trials[i];
    for (std::size_t number = 0; number < trials.size(); ++number) {
      add_row(policy, number, seed, trials[number], columns, csv);
      if (csv.size() < kBlockBytes) continue;
      GOODPUT_TRY_STATUS(write(csv));
      csv.clear();
    }
  }
  return write(csv);
}

ordered_json trials_json(const Simulation& simulation) {
  ordered_json json = ordered_json::object();
  for (std::size_t i = 0; i < simulation.policies.size(); ++i) {
    const std::vector<TrialSummary>& trials = simulation.trials[i];
    if (trials.empty()) continue;
    ordered_json& of_policy = json[simulation.policies[i].name] = ordered_json::object();
    of_policy["finished"] = column_json(trials, [](const TrialSummary& trial) { return trial.finished; });
    of_policy["stopped"] = column_json(trials, [](const TrialSummary& trial) {
      return trial.stopped.empty() ? ordered_json(nullptr) : ordered_json(trial.stopped);
    });
    std::vector<std::string> own;
    for (const PolicyMetric& metric : trials.front().metrics) own.emplace_back(metric.name);
    for (const NumberColumn& column : number_columns(own)) {
      of_policy[column.name] = column_json(trials, [&column](const TrialSummary& trial) {
        const std::optional<double> value = column.of(trial);
        return value ? ordered_json(*value) : ordered_json(nullptr);
      });
    }
  }
  return json;
}

}  // namespace goodput
