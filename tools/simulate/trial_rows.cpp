#include "tools/simulate/trial_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/append.h"
#include "sim/base/json.h"
#include "tools/simulate/trial_columns.h"
#include "traces/table/csv_field.h"

namespace goodput {
namespace {

constexpr std::size_t kBlockBytes = 1 << 16;

// Of any of the policies, in the order in which they come up.
std::vector<std::string> all_own_metrics(const Simulation& simulation) {
  std::vector<std::string> names;
  for (const std::vector<TrialSummary>& trials : simulation.trials) {
    for (std::string& name : own_metrics(trials)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  }
  return names;
}

void add_row(std::string_view policy, std::uint64_t number, std::uint64_t seed, const TrialSummary& trial,
             const std::vector<TrialColumn>& columns, std::string& csv) {
  append(csv, "{},{},{},{},{}", policy, number, seed, trial.finished ? 1 : 0, csv_field(trial.stopped));
  for (const TrialColumn& column : columns) {
    csv += ',';
    if (const std::optional<double> value = column.of(trial)) append(csv, "{}", *value);
  }
  csv += '\n';
}

template <typename Of>
OrderedJson column_json(const std::vector<TrialSummary>& trials, Of of) {
  std::vector<OrderedJson> values;
  values.reserve(trials.size());
  for (const TrialSummary& trial : trials) values.push_back(of(trial));
  return OrderedJson(std::move(values));
}

}  // namespace

Status write_trials_csv(const Simulation& simulation, std::uint64_t seed, std::uint64_t first_trial,
                        const std::function<Status(std::string_view)>& write) {
  const std::vector<TrialColumn> columns = trial_columns(all_own_metrics(simulation));
  std::string csv = "policy,trial,seed,finished,stopped";
  for (const TrialColumn& column : columns) csv += "," + column.name;
  csv += '\n';
  for (std::size_t i = 0; i < simulation.policies.size(); ++i) {
    const std::string policy = csv_field(simulation.policies[i].name);
    const std::vector<TrialSummary>& trials = simulation.trials[i];
    for (std::size_t number = 0; number < trials.size(); ++number) {
      add_row(policy, first_trial + number, seed, trials[number], columns, csv);
      if (csv.size() < kBlockBytes) continue;
      GOODPUT_TRY_STATUS(write(csv));
      csv.clear();
    }
  }
  return write(csv);
}

OrderedJson trials_json(const Simulation& simulation) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < simulation.policies.size(); ++i) {
    const std::vector<TrialSummary>& trials = simulation.trials[i];
    if (trials.empty()) continue;
    OrderedJson& of_policy = json[simulation.policies[i].name] = OrderedJson::object();
    of_policy["finished"] = column_json(trials, [](const TrialSummary& trial) { return trial.finished; });
    of_policy["stopped"] = column_json(trials, [](const TrialSummary& trial) {
      return trial.stopped.empty() ? OrderedJson(nullptr) : OrderedJson(trial.stopped);
    });
    for (const TrialColumn& column : trial_columns(own_metrics(trials))) {
      of_policy[column.name] = column_json(trials, [&column](const TrialSummary& trial) {
        const std::optional<double> value = column.of(trial);
        return value ? OrderedJson(*value) : OrderedJson(nullptr);
      });
    }
  }
  return json;
}

}  // namespace goodput
