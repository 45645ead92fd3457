#include "tools/check/first_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "models/scenario/sample_moments.h"
#include "sim/base/json.h"
#include "sim/base/parallel.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::int64_t kInitTrials = 64;
constexpr double kToleratedNoises = 2;
constexpr double kFixedTolerance = 0.01;                              // percent, where nothing scatters
constexpr std::array kTolerances = {0.5, 1.0, 2.0, 5.0, 10.0, 20.0};  // percent
constexpr std::array<const char*, 4> kMetrics = {"jct_s", "samples_per_hour", "goodput", "samples_per_usd"};

// The largest of all policies, by metric; none of a metric that some policy has no value of.
using Noises = std::map<std::string, double>;

// Two means of independent trials differ by sqrt(2) of a standard error.
double noise_of(const std::vector<double>& values) {
  const SampleMoments moments = sample_moments(values);
  return moments.standard_error == 0 ? 0 : std::sqrt(2.0) * moments.standard_error / std::abs(moments.mean);
}

// Those that have a value of some metric: others cannot run the job.
std::vector<std::string> running_policies(const RunFigures& figures) {
  std::vector<std::string> running;
  for (const RunFigure& figure : figures.figures) {
    const bool is_there = std::find(running.begin(), running.end(), figure.policy) != running.end();
    if (figure.fault.empty() && !is_there) running.push_back(figure.policy);
  }
  return running;
}

Noises noises_of(const RunFigures& figures, const std::vector<std::string>& running) {
  Noises noises;
  std::set<std::string> unknown;
  for (const RunFigure& figure : figures.figures) {
    if (std::find(running.begin(), running.end(), figure.policy) == running.end()) continue;
    if (!figure.fault.empty()) {
      unknown.insert(figure.rule.metric);
      continue;
    }
    double& noise = noises[figure.rule.metric];
    noise = std::max(noise, noise_of(figure.values));
  }
  for (const std::string& metric : unknown) noises.erase(metric);
  if (noises.contains("jct_s")) noises.erase("samples_per_hour");
  return noises;
}

std::string tolerance_text(double noise) {
  if (noise == 0) return fmt::format("{} %", kFixedTolerance);
  const auto enough = std::find_if(kTolerances.begin(), kTolerances.end(), [noise](double percent) {
    return percent / 100 >= kToleratedNoises * noise;
  });
  return fmt::format("{} % at 95 %", enough == kTolerances.end() ? kTolerances.back() : *enough);
}

SuiteRun measured_run(const std::string& scenario) {
  SuiteRun run{.name = std::filesystem::path(scenario).stem().string(), .command = {"simulate", scenario}};
  for (const char* metric : kMetrics) run.metrics.push_back({.metric = metric});
  run.trials = kInitTrials;
  return run;
}

}  // namespace

Result<FirstSuite> first_suite(const std::vector<std::string>& scenarios, const SuiteRunner& runner,
                               unsigned jobs) {
  std::vector<SuiteRun> runs;
  for (const std::string& scenario : scenarios) runs.push_back(measured_run(scenario));
  std::vector<Result<RunFigures>> figures(runs.size(), RunFigures{});
  parallel_pieces(jobs, runs.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) figures[i] = runner.run(runs[i], {0, kInitTrials}, {});
  });
  FirstSuite suite;
  OrderedJson json = {
      {"source", "goodput check --init: tolerances from how trials scatter; make them what you care about"},
      {"trials", kInitTrials}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!figures[i]) return std::move(figures[i]).error();
    if (json.contains("runs") && json["runs"].contains(runs[i].name))
      return Error{fmt::format("--init: two scenarios are called {}", in_quotes(runs[i].name))};
    if (const std::string fault = fault_of_name(runs[i].name); !fault.empty())
      return Error{fmt::format("--init: the name of {} {}", in_quotes(scenarios[i]), fault)};
    const std::vector<std::string> running = running_policies(*figures[i]);
    std::vector<std::string> command = runs[i].command;
    for (const RunFigure& figure : figures[i]->figures) {
      if (figure.fault.empty() || figure.rule.metric != kMetrics[1] ||
          std::find(running.begin(), running.end(), figure.policy) != running.end())
        continue;
      suite.notes.push_back(fmt::format("{}: {} is left out: {}", runs[i].name, figure.policy, figure.fault));
      command = runs[i].command;
      for (const std::string& policy : running) command.insert(command.end(), {"--policy", policy});
    }
    OrderedJson& run = json["runs"][runs[i].name] = {{"command", command}};
    const Noises noises = noises_of(*figures[i], running);
    if (noises.empty()) return Error{fmt::format("--init: no policy can run {}", scenarios[i])};
    for (const auto& [metric, noise] : noises) {
      run["metrics"][metric]["tolerance"] = tolerance_text(noise);
      suite.notes.push_back(fmt::format("{} {}: two means of {} trials differ by {:.2g} %, tolerance {}",
                                        runs[i].name, metric, kInitTrials, 100 * noise,
                                        tolerance_text(noise)));
    }
  }
  suite.json = json.dump(2) + "\n";
  return suite;
}

}  // namespace goodput
