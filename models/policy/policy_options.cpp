#include "models/policy/policy_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace goodput {
namespace {

using config::Need;

constexpr std::int64_t kMostSteps = 1'000'000'000;

}  // namespace

config::Fields joined(config::Fields first, const config::Fields& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

config::Value migration_value(MigrationTiming& timing, std::vector<std::string_view> unused,
                              std::string why) {
  const auto fields = [&timing, unused = std::move(unused), why = std::move(why)] {
    config::Fields all = config_fields(timing);
    for (config::Field& field : all) {
      if (std::find(unused.begin(), unused.end(), field.key) != unused.end())
        field.idle = [why] { return why; };
    }
    return all;
  };
  return config::object({[] { return true; }, fields, []() -> Status { return Ok{}; }});
}

config::Fields config_fields(RestartTiming& timing) {
  return {{"detect_s", Need::kOptional, config::number(timing.detect, kPolicySeconds, from_seconds(1)),
           "time until the loss of a node is detected"},
          {"startup_s", Need::kOptional, config::number(timing.startup, kPolicySeconds, from_seconds(1)),
           "time to start processes, libraries and process groups, before state is loaded"}};
}

std::string no_interval(const CheckpointSettings& settings) {
  const bool has_none = settings.rule == IntervalRule::kFixed && settings.interval_steps == 0;
  return has_none ? "no checkpoint is written: interval_steps is 0" : "";
}

config::Fields config_fields(CheckpointSettings& settings, CheckpointUse use) {
  const auto no_save = [&settings, saves_besides = std::move(use.saves_besides)] {
    return saves_besides && saves_besides() ? "" : no_interval(settings);
  };
  const auto no_snapshot = [&settings, no_save, in_sync = use.snapshots_in_sync]() -> std::string {
    const bool takes_one = in_sync && no_interval(settings).empty();
    return settings.mode == SaveMode::kSync && !takes_one ? "mode is \"sync\"" : no_save();
  };
  const auto other_rule = [&settings]() -> std::string {
    if (settings.rule == IntervalRule::kFixed) return "";
    return fmt::format("interval is \"{}\"", kIntervalRuleNames[static_cast<std::size_t>(settings.rule)]);
  };
  const auto no_rule = [&settings] {
    return settings.rule == IntervalRule::kFixed ? "interval is \"fixed\"" : "";
  };
  return {
      {"interval", Need::kOptional, config::choice(settings.rule, kIntervalRuleNames),
       "how the checkpoint interval is set: fixed, or Young's, Daly's or the optimal interval for the MTBF"},
      {"interval_steps", Need::kOptional, config::integer(settings.interval_steps, 0, kMostSteps),
       "number of steps between checkpoints if interval is \"fixed\"; 0: no checkpoints", other_rule},
      {"mtbf_hours", Need::kOptional, config::number(settings.mtbf_hours, config::between(0, 1e6)),
       "MTBF of the whole job, for the rules young, daly and optimal; 0: computed from the failure models",
       no_rule},
      {"mode", Need::kOptional, config::choice(settings.mode, kSaveModeNames),
       "sync: training stops until the checkpoint is in storage; async: training continues when the state is "
       "in CPU memory",
       no_save},
      {"write_gb_per_s", Need::kOptional, config::number(settings.write, kPolicyGbPerS, 1e9),
       "rate at which storage takes writes from all nodes together", no_save},
      {"read_gb_per_s", Need::kOptional, config::number(settings.read, kPolicyGbPerS, 1e9),
       "rate at which storage serves reads to all nodes together"},
      {"snapshot_gb_per_s", Need::kOptional, config::number(settings.snapshot, kPolicyGbPerS, 1e9),
       "rate at which a node copies state to CPU memory if mode is \"async\"", no_snapshot},
      {"storage_duty", Need::kOptional, config::number(settings.storage_duty, config::between(1e-6, 1)),
       "maximum fraction of the time during which checkpoints keep storage busy; the checkpoint interval is "
       "increased if needed",
       no_save},
      {"bytes_per_parameter", Need::kOptional, config::integer(settings.bytes_per_parameter, 0, 64),
       "checkpoint bytes per parameter; 0: from the plan's dtype and optimizer_bytes (14 with bf16, 12 with "
       "fp32)"}};
}

bool follows_failures(const CheckpointSettings& settings) {
  return settings.rule != IntervalRule::kFixed && settings.mtbf_hours == 0;
}

Status check_interval(const CheckpointSettings& settings, const JobModel& job) {
  if (!follows_failures(settings)) return Ok{};
  const std::optional<double> known = job.mtbf_s(job.most_nodes_ever());
  if (known && std::isfinite(*known)) return Ok{};
  return Error{fmt::format("is not given, and {}; give mtbf_hours, or set interval to \"fixed\"",
                           known ? "no failure of the scenario can hit the job"
                                 : "a failure model does not define how often it hits the job"),
               {.pointer = "/mtbf_hours"}};
}

double mtbf_s(const CheckpointSettings& settings, const JobModel& job, std::int32_t nodes) {
  return follows_failures(settings) ? job.mtbf_s(nodes).value() : settings.mtbf_hours * 3600;
}

std::int32_t bytes_per_parameter(const CheckpointSettings& settings, const ParallelPlan& plan) {
  return settings.bytes_per_parameter > 0 ? settings.bytes_per_parameter : plan.saved_bytes();
}

ModuleBytes checkpoint_modules(const JobModel& job, const CheckpointSettings& settings) {
  return module_bytes(job.modules(), bytes_per_parameter(settings, job.plan().parallel));
}

Bytes checkpoint_bytes(const JobModel& job, const CheckpointSettings& settings) {
  return checkpoint_modules(job, settings).total();
}

CheckpointRule checkpoint_rule(const CheckpointSettings& settings, const CheckpointWrite& write,
                               const StepTime& step, SimDuration restart, double mtbf_s) {
  const SaveTimes& times = write.times;
  CheckpointRule rule;
  rule.bytes = write.bytes;
  rule.stall = save_stall(settings.mode, times, step.forward_backward);
  rule.lag = settings.mode == SaveMode::kAsync ? times.total() - rule.stall : SimDuration{};
  if (settings.rule == IntervalRule::kFixed) {
    rule.interval = settings.interval_steps;
  } else {
    const FailureCosts costs{mtbf_s, std::max(to_seconds(rule.stall), 1e-9), to_seconds(restart)};
    rule.interval = interval_steps(settings.rule, costs, to_seconds(step.step));
  }
  if (rule.interval == 0) return rule;
  const std::int64_t least = least_interval(settings.mode, times, step.step, settings.storage_duty);
  if (rule.interval >= least) return rule;
  const std::int64_t asked = std::exchange(rule.interval, least);
  if (settings.rule == IntervalRule::kFixed) rule.asked = asked;  // the other rules ask for what there can be
  return rule;
}

SaveTimes whole_save_times(const CheckpointSettings& settings, Bytes bytes, std::int32_t nodes) {
  if (settings.mode == SaveMode::kSync) return {{}, bytes / settings.write};
  return {Bytes{bytes.value / nodes} / settings.snapshot, bytes / settings.write};
}

}  // namespace goodput
