#include "tools/simulate/checkpoint_interval.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "models/policy/policy_options.h"
#include "sim/base/json.h"
#include "tools/cli/duration_text.h"

namespace goodput {

std::optional<CheckpointInterval> checkpoint_interval(const SimulateReport& report, std::size_t policy) {
  if (report.scenario.policies[policy].command) return std::nullopt;  // whose options are its own
  const std::optional<FirstSaving>& first = report.simulation.policies[policy].first_saving;
  const auto options = Json::parse(report.scenario.policies[policy].options);
  if (!first || !options.contains("checkpoint")) return std::nullopt;
  const Json& checkpoint = options.at("checkpoint");
  CheckpointInterval interval;
  interval.rule = checkpoint.value("interval", "");
  interval.nodes = first->nodes;
  interval.steps = first->interval;
  CheckpointSettings settings;
  settings.bytes_per_parameter = checkpoint.value("bytes_per_parameter", settings.bytes_per_parameter);
  interval.bytes = checkpoint_bytes(*report.inputs.job, settings);
  interval.bytes_per_parameter = bytes_per_parameter(settings, report.scenario.plan.parallel);
  if (interval.rule == "fixed") return interval;
  const double given = checkpoint.value("mtbf_hours", 0.0);
  interval.is_of_failures = given == 0;
  const std::optional<double> known = report.inputs.job->mtbf_s(first->nodes);
  if (!interval.is_of_failures)
    interval.mtbf_hours = given;
  else if (known)
    interval.mtbf_hours = *known / 3600;
  return interval;
}

OrderedJson checkpoint_interval_json(const std::optional<CheckpointInterval>& of) {
  if (!of) return nullptr;
  return {{"interval", of->rule},     {"mtbf_hours", or_null(of->mtbf_hours)},
          {"nodes", of->nodes},       {"interval_steps", of->steps},
          {"bytes", of->bytes.value}, {"bytes_per_parameter", of->bytes_per_parameter}};
}

std::string checkpoint_intervals_text(const SimulateReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.simulation.policies.size(); ++i) {
    const auto interval = checkpoint_interval(report, i);
    if (!interval || !interval->is_of_failures || !interval->mtbf_hours) continue;
    text += fmt::format("{}: a checkpoint every {} steps ({} rule, for an MTBF of {} on {} nodes)\n",
                        report.simulation.policies[i].name, interval->steps, interval->rule,
                        duration_text(*interval->mtbf_hours * 3600), interval->nodes);
  }
  return text;
}

std::string checkpoint_sizes_text(const SimulateReport& report) {
  const ParallelPlan& plan = report.scenario.plan.parallel;
  std::map<std::int32_t, std::vector<std::string>> policies;  // by bytes of a parameter
  std::map<std::int32_t, Bytes> sizes;
  for (std::size_t i = 0; i < report.simulation.policies.size(); ++i) {
    const auto of = checkpoint_interval(report, i);
    if (!of || of->steps == 0) continue;
    policies[of->bytes_per_parameter].push_back(report.simulation.policies[i].name);
    sizes[of->bytes_per_parameter] = of->bytes;
  }
  std::string text;
  for (const auto& [each, names] : policies) {
    const std::string parts =
        each != plan.saved_bytes()
            ? ""
            : fmt::format(" ({} for the {} weight + {} for the master weight and moments)",
                          plan.number_bytes(), kDtypeNames[static_cast<std::size_t>(plan.dtype)],
                          plan.state_bytes());
    text += fmt::format("{}: checkpoint size {:.4g} GB, {} bytes per parameter{}\n", fmt::join(names, ", "),
                        1e-9 * static_cast<double>(sizes.at(each).value), each, parts);
  }
  return text;
}

}  // namespace goodput
