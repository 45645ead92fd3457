#include "models/sweep/sweep_config.h"

#include <fmt/format.h>

#include <utility>

#include "models/failure/failure_fields.h"
#include "models/scenario/scenario.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

using config::Need;

config::Value sweep_axes_value(std::vector<SweepAxis>& axes) {
  const std::string wanted = "an array of objects";
  const auto read = [&axes, wanted](const Json& from, const config::Place& place) -> Status {
    if (!from.is_array()) return place.not_wanted(from, wanted);
    if (from.empty()) return place.error("must have at least one axis");
    axes.clear();
    for (const Json& one : from) {
      SweepAxis axis;
      config::Place at = place.at(std::to_string(axes.size()));
      GOODPUT_TRY_STATUS(config::object(axis).read(one, at));
      axes.push_back(std::move(axis));
    }
    return Ok{};
  };
  const auto write = [&axes](OrderedJson& into) {
    into = OrderedJson::array();
    for (SweepAxis axis : axes) into.push_back(config::write(config_fields(axis)));
  };
  return {wanted, read, write, {}};
}

config::Value sweep_changes_value(std::vector<config::Change>& changes) {
  const std::string wanted = "an object that maps JSON pointers to values";
  const auto read = [&changes, wanted](const Json& from, const config::Place& place) -> Status {
    if (!from.is_object()) return place.not_wanted(from, wanted);
    changes.clear();
    for (const auto& [pointer, value] : from.items())
      changes.push_back({pointer, value.dump(), {}, place.file});
    return Ok{};
  };
  const auto write = [&changes](OrderedJson& into) {
    for (const config::Change& change : changes)
      into[change.pointer] = OrderedJson(config::json_or_text(change.value));
  };
  return {wanted, read, write, {}};
}

config::Value stopping_rule_value(std::optional<StoppingRule>& rule) {
  const auto read = [&rule](const Json& from, const config::Place& place) -> Status {
    if (!from.is_string()) return place.not_wanted(from, "a string such as \"cost±0.2%\"");
    auto parsed = StoppingRule::parse(from.get_ref<const std::string&>());
    if (!parsed) return place.error(parsed.error().what);
    rule = *std::move(parsed);
    return Ok{};
  };
  const auto write = [&rule](OrderedJson& into) {
    if (rule) into = rule->text();
  };
  return {"a string: METRIC±X% or METRIC:A/B±X%", read, write, {}};
}

}  // namespace

config::Fields config_fields(SweepConfig& sweep) {
  const auto has_no_size = [&sweep] {
    return sweep.design == SweepDesign::kLatin ? "" : "the values determine the number of points";
  };
  const auto has_no_rule = [&sweep] { return sweep.until ? "" : "\"until\" is not given"; };
  return {
      {"scenario", Need::kRequired, config::path_or_name(sweep.scenario, kScenarioFiles),
       "scenario to run, a path or a name"},
      {"set", Need::kOptional, sweep_changes_value(sweep.set),
       "changes to the scenario at every point, for example {\"/trials\": 50}"},
      {"vary", Need::kRequired, sweep_axes_value(sweep.vary), "list of what varies, one object per axis"},
      {"design", Need::kOptional, config::choice(sweep.design, kSweepDesignNames),
       "grid: all combinations of values; list: the first value of every axis, then the second, and so on; "
       "latin: a Latin hypercube drawn with the seed"},
      {"points", Need::kOptional, config::integer(sweep.points, 0, kMostSweepPoints),
       "number of points of a Latin hypercube", has_no_size},
      {"trials", Need::kOptional, config::integer(sweep.trials, 0, kMostSweepTrials),
       "number of trials of every policy at each point; with `until`, the initial number; 0: as in the "
       "scenario"},
      {"until", Need::kOptional, stopping_rule_value(sweep.until),
       "run more trials until the 95 % confidence interval of the metric, or of the ratio of policies A and "
       "B, is this narrow"},
      config::renamed({"max_trials", Need::kOptional,
                       config::integer(sweep.max_trials, kLeastRuleTrials, kMostSweepTrials),
                       "maximum number of trials with `until`", has_no_rule},
                      "most_trials"),
      {"policies", Need::kOptional, config::texts(sweep.policies),
       "list of the scenario's policies to run (default: all)"}};
}

}  // namespace goodput
