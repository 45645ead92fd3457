// What to know of the results of `goodput simulate` besides: lines under its tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/checkpoint/lost_tokens.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/job/time_bucket.h"
#include "tools/cli/key_notes.h"
#include "tools/simulate/checkpoint_interval.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

constexpr double kCostlySaves = 0.2;     // of the job's time
constexpr double kWideInterval = 0.01;   // of its mean: one that is narrower decides nothing
constexpr double kSameBatch = 1.01;      // largest over smallest
constexpr std::int64_t kFewTrials = 10;  // models/scenario/estimate.h doubts the intervals of fewer

// ---- What did not run, or not to its end.

std::string endings_text(const SimulateReport& report) {
  std::string text;
  for (const PolicyOutcome& outcome : report.simulation.policies) {
    if (!outcome.refused.empty())
      text += fmt::format("{} cannot run this job: {}\n", outcome.name, outcome.refused);
    for (const auto& [reason, trials] : outcome.stopped) {
      text += fmt::format("{} stopped{}: {}\n", outcome.name,
                          outcome.trials > 1 ? fmt::format(" ({} of {} trials)", trials, outcome.trials) : "",
                          reason);
    }
  }
  return text;
}

// ---- Warnings: each once, with all policies that it is about.

using Warnings = std::vector<std::pair<std::string, std::vector<std::string>>>;  // and whose

void add_warning(const std::string& policy, const std::string& warning, Warnings& warnings) {
  const auto same = std::find_if(warnings.begin(), warnings.end(),
                                 [&warning](const auto& known) { return known.first == warning; });
  if (same != warnings.end()) return same->second.push_back(policy);
  warnings.push_back({warning, {policy}});
}

std::string rate_text(double gb_per_s) {
  return fmt::format("{:g} GB/s", gb_per_s);
}

// Storage that nobody has said anything about is a guess.
std::optional<std::string> costly_saves(const SimulateReport& report, std::size_t policy) {
  if (report.given.policies[policy].command) return std::nullopt;  // whose options are its own
  const PolicyOutcome& outcome = report.simulation.policies[policy];
  const double wall = outcome.mean(TrialMetric::kWall);
  const double saving = outcome.time_s[index(TimeBucket::kCheckpointSave)].mean;
  if (wall == 0 || saving < kCostlySaves * wall) return std::nullopt;
  const JsonPointer rate("/checkpoint/write_gb_per_s");
  const auto given = Json::parse(report.given.policies[policy].options);
  const auto used = Json::parse(report.scenario.policies[policy].options);
  const double stall = used.value("memory_replicas", 1) > 0 ? used.value("memory_stall_s", 0.0) : 0;
  if (stall > 0) {
    return fmt::format(
        "{:.0f} % of the time goes to checkpoints, and each in-memory checkpoint delays training by {:g} s; "
        "save less often (memory_interval_steps) or lower memory_stall_s",
        100 * saving / wall, stall);
  }
  return fmt::format(
      "{:.0f} % of the time goes to checkpoints, written at {}{}; set checkpoint/write_gb_per_s to the "
      "bandwidth of your storage, save less often, or use \"mode\": \"async\"",
      100 * saving / wall, rate_text(used.contains(rate) ? used.at(rate).get<double>() : 0.0),
      given.contains(rate) ? "" : " (the default)");
}

std::optional<std::string> skipped_saves(const PolicyOutcome& outcome) {
  const double skipped = outcome.mean(TrialMetric::kSavesSkipped);
  if (skipped == 0) return std::nullopt;
  return fmt::format(
      "{} checkpoints per run are skipped because storage cannot keep up with the checkpoint interval",
      count_text(skipped));
}

// What partial checkpoints lose besides time.
std::optional<std::string> lost_tokens(const SimulateReport& report, std::size_t policy) {
  const PolicyOutcome& outcome = report.simulation.policies[policy];
  const auto plt = outcome.metrics.find("plt");
  if (plt == outcome.metrics.end()) return std::nullopt;
  const std::string warning = plt_warning(plt->second.mean);
  if (warning.empty()) return std::nullopt;
  const auto options = Json::parse(report.scenario.policies[policy].options);
  return fmt::format("{}; {}raise k_persist, or save more often", warning,
                     options.value("dynamic_k", false) ? "" : "set dynamic_k, ");
}

std::optional<std::string> unknown_deadline(const PolicyOutcome& outcome) {
  if (!outcome.deadline || outcome.deadline->unknown == 0) return std::nullopt;
  return fmt::format(
      "{} of {} trials end with the node recording, before both the goal and the deadline, so it is not "
      "known whether these trials would meet the deadline",
      outcome.deadline->unknown, outcome.trials);
}

std::string warnings_text(const SimulateReport& report) {
  Warnings warnings;
  for (std::size_t i = 0; i < report.simulation.policies.size(); ++i) {
    const PolicyOutcome& outcome = report.simulation.policies[i];
    if (!outcome.refused.empty()) continue;
    for (const std::string& warning : outcome.warnings) add_warning(outcome.name, warning, warnings);
    if (const auto unknown = unknown_deadline(outcome)) add_warning(outcome.name, *unknown, warnings);
    if (const auto skipped = skipped_saves(outcome)) add_warning(outcome.name, *skipped, warnings);
    if (const auto costly = costly_saves(report, i)) add_warning(outcome.name, *costly, warnings);
    if (const auto lost = lost_tokens(report, i)) add_warning(outcome.name, *lost, warnings);
  }
  std::string text;
  for (const auto& [warning, names] : warnings)
    text += fmt::format("warning: {}: {}\n", fmt::join(names, ", "), warning);
  return text;
}

// ---- What comparisons rest on.

// Where batches change with the nodes, policies that use others train another job.
std::string batches_text(const SimulateReport& report) {
  std::vector<std::pair<double, std::string>> batches;
  for (const PolicyOutcome& outcome : report.simulation.policies) {
    if (!outcome.refused.empty() || outcome.mean(TrialMetric::kSteps) == 0) continue;
    batches.emplace_back(outcome.mean(TrialMetric::kSamples) / outcome.mean(TrialMetric::kSteps),
                         outcome.name);
  }
  if (batches.size() < 2) return "";
  const auto [least, most] = std::minmax_element(batches.begin(), batches.end());
  if (most->first <= kSameBatch * least->first) return "";
  return fmt::format(
      "warning: a step trains {} samples with {} but {} with {}, so the samples, JCT and cost of these "
      "policies are not comparable; set \"batch\": \"fixed\" to compare them\n",
      count_text(least->first), least->second, count_text(most->first), most->second);
}

bool is_wide(const Estimate& estimate) {
  if (!estimate.interval) return true;
  const auto [low, high] = *estimate.interval;
  return high - low > kWideInterval * std::abs(estimate.mean);
}

std::vector<std::string> doubtful_metrics(const PolicyOutcome& outcome) {
  std::vector<std::string> names;
  for (const TrialMetric metric : {TrialMetric::kSamples, TrialMetric::kJct, TrialMetric::kSamplesPerHour,
                                   TrialMetric::kGoodput, TrialMetric::kEfficiency, TrialMetric::kCost}) {
    const std::optional<Estimate>& estimate = outcome.estimate(metric);
    if (estimate && estimate->is_doubtful && is_wide(*estimate)) names.emplace_back(info(metric).name);
  }
  return names;
}

std::string doubts_text(const SimulateReport& report) {
  std::vector<std::string> doubts;
  for (const PolicyOutcome& outcome : report.simulation.policies) {
    const std::vector<std::string> names = doubtful_metrics(outcome);
    if (!names.empty()) doubts.push_back(fmt::format("{} ({})", outcome.name, fmt::join(names, ", ")));
  }
  for (const PolicyRatio& ratio : report.simulation.ratios) {
    const auto is_doubtful = [](const std::optional<Estimate>& one) {
      return one && one->is_doubtful && is_wide(*one);
    };
    if (is_doubtful(ratio.samples_per_hour) || is_doubtful(ratio.jct_s)) doubts.push_back(ratio.name);
  }
  if (doubts.empty()) return "";
  if (report.scenario.trials < kFewTrials) {
    return fmt::format(
        "warning: {} trials are too few to tell whether results are skewed; the 95 % intervals of skewed "
        "results are too narrow; run {} trials or more\n",
        report.scenario.trials, kFewTrials);
  }
  return fmt::format(
      "warning: these results are so skewed that their 95 % intervals are too narrow: {}; run more trials\n",
      fmt::join(doubts, "; "));
}

// Whose numbers they are that this program did not work out.
std::string commands_text(const SimulateReport& report) {
  std::string text;
  for (const ScenarioPolicy& policy : report.scenario.policies) {
    if (policy.command)
      text += fmt::format("{}: decisions and times come from the command `{}`\n", policy.name,
                          on_one_line(policy.command->command));
  }
  return text;
}

std::string recordings_text(const SimulateReport& report) {
  const std::string& note = report.observations.note;
  return note.empty() ? "" : fmt::format("note: {}\n", on_one_line(note));
}

std::string files_text(const SimulateReport& report) {
  std::string text;
  for (const ScenarioFile& file : report.inputs.files)
    text += fmt::format("{}: {}{}\n", file.pointer, file.used, file.is_fallback() ? " (fallback)" : "");
  return text;
}

}  // namespace

std::string simulate_remarks(const SimulateReport& report) {
  const std::string text = endings_text(report) + recordings_text(report) + warnings_text(report) +
                           key_notes_text(key_notes(report.scenario), report.scenario.file) +
                           batches_text(report) + doubts_text(report) + checkpoint_intervals_text(report) +
                           checkpoint_sizes_text(report) + commands_text(report) + files_text(report);
  return text.empty() ? "" : "\n" + text;
}

}  // namespace goodput
