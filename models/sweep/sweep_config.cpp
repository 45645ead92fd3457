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
    if (from.empty()) return place.error("is empty, want at least one axis");
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
  const std::string wanted = "an object: values by pointer";
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
    if (!from.is_string()) return place.not_wanted(from, "text: \"cost±0.2%\"");
    auto parsed = StoppingRule::parse(from.get_ref<const std::string&>());
    if (!parsed) return place.error(parsed.error().what);
    rule = *std::move(parsed);
    return Ok{};
  };
  const auto write = [&rule](OrderedJson& into) {
    if (rule) into = rule->text();
  };
  return {"text: METRIC±X% or METRIC:A/B±X%", read, write, {}};
}

}  // namespace

config::Fields config_fields(SweepConfig& sweep) {
  const auto has_no_size = [&sweep] {
    return sweep.design == SweepDesign::kLatin ? "" : "the values say how many points there are";
  };
  const auto has_no_rule = [&sweep] { return sweep.until ? "" : "there is no until"; };
  return {
      {"scenario", Need::kRequired, config::path_or_name(sweep.scenario, kScenarioFiles),
       "what is run, a path or a name"},
      {"set", Need::kOptional, sweep_changes_value(sweep.set),
       "values of it that are others at every point: {\"/trials\": 50}"},
      {"vary", Need::kRequired, sweep_axes_value(sweep.vary), "what varies, an object an axis"},
      {"design", Need::kOptional, config::choice(sweep.design, kSweepDesignNames),
       "grid: every value with every value; list: the first ones of all axes, the second ones, and so on; "
       "latin: a Latin hypercube, drawn by the seed"},
      {"points", Need::kOptional, config::integer(sweep.points, 0, kMostSweepPoints), "of a Latin hypercube",
       has_no_size},
      {"trials", Need::kOptional, config::integer(sweep.trials, 0, kMostSweepTrials),
       "of every policy at a point, with `until` the first ones; 0: as the scenario says"},
      {"until", Need::kOptional, stopping_rule_value(sweep.until),
       "more trials until the 95 % interval of the metric, or of the ratio of policies A and B, is as "
       "narrow"},
      {"most_trials", Need::kOptional, config::integer(sweep.most_trials, kLeastRuleTrials, kMostSweepTrials),
       "with `until`: no more than these", has_no_rule},
      {"policies", Need::kOptional, config::texts(sweep.policies), "of the scenario, that run; none: all"}};
}

}  // namespace goodput
