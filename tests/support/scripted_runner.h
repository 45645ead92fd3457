// A suite whose commands are scripted: what each run shows in each of its trials.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "tools/check/run_figures.h"
#include "tools/check/suite.h"
#include "tools/check/suite_runner.h"

namespace goodput::testing {

struct Script {
  using Value = std::function<double(std::int64_t trial)>;

  // By the figure's name: of a figure of trials its value in each, of others at trial 0.
  std::map<std::string, Value> values{};
  std::map<std::string, std::string> faults{};       // by run: its command fails
  std::map<std::string, std::int64_t> fails_from{};  // by run: once it is asked for trials beyond
  RunOrigin origin{"0.1.0", "abc", "00ff", ""};
  std::map<std::string, Parts> parts{};  // by policy
};

class ScriptedRunner final : public SuiteRunner {
 public:
  explicit ScriptedRunner(Script script) : script_(std::move(script)) {}

  [[nodiscard]] Result<RunFigures> run(const SuiteRun& run, TrialRange trials,
                                       std::span<const std::string> policies) const override {
    note(run, trials, policies);
    if (const auto fault = script_.faults.find(run.name); fault != script_.faults.end())
      return Error{fault->second};
    if (const auto from = script_.fails_from.find(run.name);
        from != script_.fails_from.end() && trials.first + trials.count > from->second)
      return Error{"no more"};
    RunFigures figures{.origin = script_.origin, .parts = script_.parts};
    for (const auto& [name, value] : script_.values) {
      if (auto figure = figure_of(run, name, value, trials, policies))
        figures.figures.push_back(*std::move(figure));
    }
    return figures;
  }

  // "run 0+16 a b": what it was asked for, in turn.
  [[nodiscard]] std::vector<std::string> asked() const { return asked_; }

 private:
  static std::optional<RunFigure> figure_of(const SuiteRun& run, const std::string& name,
                                            const Script::Value& value, TrialRange trials,
                                            std::span<const std::string> policies) {
    for (const MetricRule& rule : run.metrics) {
      RunFigure figure{.name = name, .rule = rule};
      if (rule.is_pointer()) {
        if (name != run.name + rule.metric) continue;
        figure.values = {value(0)};
        return figure;
      }
      if (!name.starts_with(run.name + "/") || !name.ends_with("/" + rule.metric)) continue;
      figure.policy =
          name.substr(run.name.size() + 1, name.size() - run.name.size() - rule.metric.size() - 2);
      if (!policies.empty() && std::find(policies.begin(), policies.end(), figure.policy) == policies.end())
        return std::nullopt;
      for (std::int64_t trial = trials.first; trial < trials.first + trials.count; ++trial)
        figure.values.push_back(value(trial));
      return figure;
    }
    return std::nullopt;
  }

  void note(const SuiteRun& run, TrialRange trials, std::span<const std::string> policies) const {
    std::string line = fmt::format("{} {}+{}", run.name, trials.first, trials.count);
    for (const std::string& policy : policies) line += " " + policy;
    const std::scoped_lock lock(mutex_);
    asked_.push_back(std::move(line));
  }

  Script script_;
  mutable std::mutex mutex_;
  mutable std::vector<std::string> asked_{};
};

}  // namespace goodput::testing
