// The keys of alert rules, a function a kind.
#include <fmt/format.h>

#include <array>
#include <string>

#include "sim/base/registry.h"
#include "sim/base/text.h"
#include "tools/alerting/alerting_config.h"

namespace goodput {
namespace {

using config::Fields;
using config::Need;

// As sim/causes names them.
constexpr std::array<std::string_view, 11> kCauseNames = {
    "worker-fault",    "slow-replica", "slow-host",    "slow-switch", "slow-rack",         "stage-partition",
    "sequence-length", "gc-pauses",    "launch-delay", "slow-link",   "communication-flap"};
constexpr double kMostSilence = 1e7;  // seconds: 116 days

void add(Fields& all, Fields more) {
  for (config::Field& field : more) all.push_back(std::move(field));
}

config::Value optional_level(std::optional<double>& level, const config::Range& range) {
  return config::number([&level] { return level; }, [&level](double given) { level = given; }, range);
}

Fields level_fields(AlertLevel& level, std::string_view above) {
  return {{"above", Need::kOptional, config::number(level.above, config::above(1)), above},
          {"close_below", Need::kOptional, optional_level(level.close_below, config::above(1)),
           "a step counts toward `close_steps` if the value compared with `above` is below this (default: 80 "
           "% of the way from 1 to `above`)"}};
}

Fields patience_fields(AlertPatience& patience) {
  return {{"steps", Need::kOptional, config::integer(patience.steps, 1, kMostAlertSteps),
           "the incident opens when the condition has been met in this many of the last `of` steps"},
          {"of", Need::kOptional, config::integer(patience.of, 0, kMostAlertSteps),
           "number of recent steps in which `steps` are counted; 0: the `steps` steps must be consecutive"},
          {"close_steps", Need::kOptional, config::integer(patience.close_steps, 1, kMostAlertSteps),
           "number of consecutive steps without the condition after which the incident closes"}};
}

Fields condition_fields(SlowdownRule& rule) {
  Fields fields = level_fields(rule.level, "a step meets the condition if its slowdown S is above this");
  add(fields, patience_fields(rule.patience));
  return fields;
}

Fields condition_fields(CauseRule& rule) {
  Fields fields = {
      {"cause", Need::kOptional, config::text(rule.cause),
       "name of the only cause that meets the condition, such as worker-fault; empty: any cause"}};
  add(fields, level_fields(rule.level,
                           "a step meets the condition if fixing a likely cause would gain more than this "
                           "(1.03: 1.03 times as fast)"));
  add(fields, patience_fields(rule.patience));
  return fields;
}

Fields condition_fields(WorkerRule& rule) {
  Fields fields = level_fields(
      rule.level, "a step meets the condition if its worst worker alone causes a slowdown above this");
  add(fields, patience_fields(rule.patience));
  return fields;
}

Fields condition_fields(SilenceRule& rule) {
  return {{"seconds", Need::kOptional,
           config::number(rule.seconds, {.least = 0, .most = kMostSilence, .is_least_excluded = true}),
           "the incident opens if no new step arrives for this many seconds after a step of the job; the "
           "next step closes the incident"}};
}

Fields condition_fields(IncompleteRule& rule) {
  return patience_fields(rule.patience);
}

Fields condition_fields(WorseningRule& rule) {
  return {{"by", Need::kOptional, config::number(rule.by, config::above(0)),
           "the incident opens if S rises by at least this over the last `steps` steps"},
          {"steps", Need::kOptional, config::integer(rule.steps, kFewestTrendSteps, kMostAlertSteps),
           "number of recent steps in which the rise of S is measured"},
          {"close_steps", Need::kOptional, config::integer(rule.close_steps, 1, kMostAlertSteps),
           "number of consecutive steps in which S rose by less than half of `by`, after which the incident "
           "closes"}};
}

Status check(const AlertLevel& level) {
  if (level.closes() <= level.above) return Ok{};
  return Error{fmt::format("must be at most `above` ({}), not {}", level.above, *level.close_below),
               {.pointer = "/close_below"}};
}

Status check(const AlertPatience& patience) {
  if (patience.of == 0 || patience.of >= patience.steps) return Ok{};
  return Error{fmt::format("must be 0, or at least `steps` ({}), not {}", patience.steps, patience.of),
               {.pointer = "/of"}};
}

Status check_condition(const SlowdownRule& rule) {
  GOODPUT_TRY_STATUS(check(rule.level));
  return check(rule.patience);
}
Status check_condition(const CauseRule& rule) {
  if (!rule.cause.empty()) {
    const auto known = index_of_name(kCauseNames, "cause", rule.cause);
    if (!known) return known.error().inside("/cause");
  }
  GOODPUT_TRY_STATUS(check(rule.level));
  return check(rule.patience);
}
Status check_condition(const WorkerRule& rule) {
  GOODPUT_TRY_STATUS(check(rule.level));
  return check(rule.patience);
}
Status check_condition(const SilenceRule& /*rule*/) {
  return Ok{};
}
Status check_condition(const IncompleteRule& rule) {
  return check(rule.patience);
}
Status check_condition(const WorseningRule& /*rule*/) {
  return Ok{};
}

}  // namespace

config::Fields config_fields(AlertRule& rule) {
  Fields fields = std::visit([](auto& condition) { return condition_fields(condition); }, rule.condition);
  fields.push_back({"severity", Need::kOptional, config::choice(rule.severity, kAlertSeverities),
                    "severity of the incident, shown in messages and on web pages"});
  return fields;
}

Status config_finish(AlertRule& rule) {
  return std::visit([](const auto& condition) { return check_condition(condition); }, rule.condition);
}

}  // namespace goodput
