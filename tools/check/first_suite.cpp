#include "tools/check/first_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/scenario/sample_moments.h"
#include "sim/base/json.h"
#include "sim/base/parallel.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::int64_t kInitTrials = 64;
constexpr std::int64_t kMostInitTrials = 512;
constexpr double kSlower =
    0.01;  // a change that a suite is to find: every step takes so much more of the time
constexpr double kToleratedNoises = 3;    // so that of many figures few seem to have moved by chance
constexpr double kFixedTolerance = 0.01;  // percent, where nothing scatters
constexpr double kLeastNoise = 1e-9;
constexpr std::array kTolerances = {0.5, 1.0, 2.0, 5.0, 10.0, 20.0};  // percent
constexpr std::array<const char*, 4> kMetrics = {"jct_s", "samples_per_hour", "goodput", "samples_per_usd"};
constexpr std::array<const char*, 2> kStepMetrics = {"wall_s", "steps"};  // what a step takes of the time

// How far off kInitTrials pairs measure a change, one standard error, as a share of the mean: the largest of
// all policies, by metric; none of a metric that some policy has no value of.
using Noises = std::map<std::string, double>;

bool is_compared(const std::string& metric) {
  return std::find(kMetrics.begin(), kMetrics.end(), metric) != kMetrics.end();
}

// Of two means of independent trials: sqrt(2) standard errors.
double noise_of(const std::vector<double>& values) {
  const SampleMoments moments = sample_moments(values);
  return moments.standard_error == 0 ? 0 : std::sqrt(2.0) * moments.standard_error / std::abs(moments.mean);
}

// Of pairs of trials, which share their failures.
double noise_of(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> changes = after;
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i] -= before[i];
  const SampleMoments values = sample_moments(before);
  if (values.standard_error == 0) return 0;
  // All changes may be the same; the values are still those of trials.
  return std::max(sample_moments(changes).standard_error / std::abs(values.mean), kLeastNoise);
}

const RunFigure* figure_if_any(const RunFigures& figures, const std::string& policy,
                               const std::string& metric) {
  const auto found =
      std::find_if(figures.figures.begin(), figures.figures.end(), [&](const RunFigure& figure) {
        return figure.policy == policy && figure.rule.metric == metric && figure.fault.empty();
      });
  return found == figures.figures.end() ? nullptr : &*found;
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

// What the scenario adds to the policy's steps already, in seconds.
double step_overhead_s(const SuiteRun& run, const std::string& policy, const SuiteRunner& runner) {
  SuiteRun asked = run;
  asked.metrics.push_back({.metric = fmt::format("/scenario/policies/{}/step_overhead_s", policy)});
  const std::string only[] = {policy};
  const Result<RunFigures> found = runner.run(asked, {0, 2}, only);
  if (!found) return 0;
  const auto overhead = std::find_if(
      found->figures.begin(), found->figures.end(),
      [](const RunFigure& figure) { return !figure.is_of_trials() && figure.values.size() == 1; });
  return overhead == found->figures.end() ? 0 : overhead->values.front();
}

// The policy with steps that take kSlower of its time more; none: it has no such option, or is not run.
std::optional<RunFigures> slower_policy(const SuiteRun& run, const RunFigures& figures,
                                        const std::string& policy, const SuiteRunner& runner) {
  const RunFigure* wall = figure_if_any(figures, policy, kStepMetrics[0]);
  const RunFigure* steps = figure_if_any(figures, policy, kStepMetrics[1]);
  if (wall == nullptr || steps == nullptr) return std::nullopt;
  const double each = sample_moments(wall->values).mean / sample_moments(steps->values).mean;
  if (!std::isfinite(each)) return std::nullopt;
  SuiteRun slower = run;
  slower.name += ", 1 % slower";
  slower.command.insert(slower.command.end(),
                        {"--set", fmt::format("/policies/{}/step_overhead_s={}", policy,
                                              kSlower * each + step_overhead_s(run, policy, runner))});
  const std::string only[] = {policy};
  Result<RunFigures> found = runner.run(slower, {0, kInitTrials}, only);
  return found ? std::optional(*std::move(found)) : std::nullopt;
}

// By the pairs where the slower policy is another at all, else as if trials shared nothing.
double noise_of(const RunFigure& figure, const std::optional<RunFigures>& slower) {
  const RunFigure* after = slower ? figure_if_any(*slower, figure.policy, figure.rule.metric) : nullptr;
  const bool is_paired = after != nullptr && after->values.size() == figure.values.size();
  return is_paired ? noise_of(figure.values, after->values) : noise_of(figure.values);
}

Noises noises_of(const SuiteRun& run, const RunFigures& figures, const std::vector<std::string>& running,
                 const SuiteRunner& runner) {
  Noises noises;
  std::set<std::string> unknown;
  for (const std::string& policy : running) {
    const std::optional<RunFigures> slower = slower_policy(run, figures, policy, runner);
    for (const RunFigure& figure : figures.figures) {
      if (figure.policy != policy || !is_compared(figure.rule.metric)) continue;
      if (!figure.fault.empty()) {
        unknown.insert(figure.rule.metric);
        continue;
      }
      double& noise = noises[figure.rule.metric];
      noise = std::max(noise, noise_of(figure, slower));
    }
  }
  for (const std::string& metric : unknown) noises.erase(metric);
  if (noises.contains("jct_s")) noises.erase("samples_per_hour");
  return noises;
}

// With more trials than kInitTrials.
double noise_with(double noise, std::int64_t trials) {
  return noise * std::sqrt(static_cast<double>(kInitTrials) / static_cast<double>(trials));
}

// So many that the least tolerance will do, which is half of kSlower; at most kMostInitTrials.
std::int64_t trials_for(const Noises& noises) {
  double noise = 0;
  for (const auto& [metric, of_metric] : noises) noise = std::max(noise, of_metric);
  std::int64_t trials = kInitTrials;
  while (trials < kMostInitTrials && kToleratedNoises * noise_with(noise, trials) > kTolerances.front() / 100)
    trials *= 2;
  return trials;
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
  for (const char* metric : kStepMetrics) run.metrics.push_back({.metric = metric});
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
  OrderedJson json = {{"source",
                       "goodput check --init: tolerances derived from the scatter of paired trials; adjust "
                       "them to your needs"},
                      {"trials", kInitTrials}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!figures[i]) return std::move(figures[i]).error();
    if (json.contains("runs") && json["runs"].contains(runs[i].name))
      return Error{
          fmt::format("--init: two scenarios are named {}; rename one of them", in_quotes(runs[i].name))};
    if (const std::string fault = fault_of_name(runs[i].name); !fault.empty())
      return Error{fmt::format("--init: the name of {} {}", in_quotes(scenarios[i]), fault)};
    const std::vector<std::string> running = running_policies(*figures[i]);
    std::vector<std::string> command = runs[i].command;
    for (const RunFigure& figure : figures[i]->figures) {
      if (figure.fault.empty() || figure.rule.metric != kMetrics[1] ||
          std::find(running.begin(), running.end(), figure.policy) != running.end())
        continue;
      suite.notes.push_back(
          fmt::format("{}: policy {} is left out: {}", runs[i].name, figure.policy, figure.fault));
      command = runs[i].command;
      for (const std::string& policy : running) command.insert(command.end(), {"--policy", policy});
    }
    OrderedJson& run = json["runs"][runs[i].name] = {{"command", command}};
    const Noises noises = noises_of(runs[i], *figures[i], running, runner);
    if (noises.empty()) return Error{fmt::format("--init: no policy can run {}", scenarios[i])};
    const std::int64_t trials = trials_for(noises);
    if (trials != kInitTrials) run["trials"] = trials;
    for (const auto& [metric, of_metric] : noises) {
      const double noise = noise_with(of_metric, trials);
      run["metrics"][metric]["tolerance"] = tolerance_text(noise);
      suite.notes.push_back(
          fmt::format("{} {}: {} trials measure a change to within {:.2g} %, so the tolerance is {}",
                      runs[i].name, metric, trials, 100 * noise, tolerance_text(noise)));
    }
  }
  suite.json = json.dump(2) + "\n";
  return suite;
}

}  // namespace goodput
