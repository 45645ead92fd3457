#include "tools/check/run_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "models/scenario/trial_metrics.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

std::string text_at(const OrderedJson& result, const char* key) {
  const auto found = result.find(key);
  return found != result.end() && found->is_string() ? found->get<std::string>() : "";
}

// Told by its bytes: the file may lie elsewhere.
std::string calibration_of(const std::string& file) {
  if (file.empty()) return "";
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  Hash hash;
  hash.add(std::string_view(bytes));
  return fmt::format("{} {:016x}", std::filesystem::path(file).filename().string(), hash.value());
}

RunOrigin origin_of(const OrderedJson& result) {
  return {text_at(result, "version"), text_at(result, "revision"), text_at(result, "config_hash"),
          calibration_of(text_at(result, "calibration"))};
}

Parts parts_of(const OrderedJson& object, const std::string& unit) {
  Parts parts;
  for (const auto& [name, value] : object.items()) {
    if (value.is_number() && value.get<double>() != 0) parts[name + unit] = value.get<double>();
  }
  return parts;
}

// Of a list of objects, each with a name and a time.
Parts parts_of_list(const OrderedJson& list, const char* name, const char* time) {
  Parts parts;
  for (const OrderedJson& one : list) {
    const auto value = one.find(time);
    if (value != one.end() && value->is_number()) parts[text_at(one, name) + "_s"] += value->get<double>();
  }
  return parts;
}

std::map<std::string, Parts> all_parts(const OrderedJson& result) {
  std::map<std::string, Parts> parts;
  const std::string schema = text_at(result, "schema");
  if (schema == "goodput.simulate/1") {
    for (const auto& [policy, outcome] : result.at("policies").items())
      parts[policy] = parts_of(outcome.at("time_s"), "_s");
  } else if (schema == "goodput.plan-step/1") {
    parts[""] = parts_of_list(result.at("critical_path"), "op", "time_s");
  } else if (schema == "goodput.whatif/1") {
    parts[""] = parts_of(result.at("slowdown_by_optype"), "");
  }
  return parts;
}

RunFigure figure_at(const OrderedJson& result, const std::string& run, const MetricRule& rule) {
  RunFigure figure{.name = run + rule.metric, .rule = rule};
  const JsonPointer pointer(rule.metric);
  if (!result.contains(pointer)) {
    figure.fault = fmt::format("the result has no {}", on_one_line(rule.metric));
    return figure;
  }
  const OrderedJson& value = result.at(pointer);
  if (value.is_number()) {
    figure.values = {value.get<double>()};
  } else if (rule.tolerance.kind == Tolerance::Kind::kExact) {
    figure.text = Json::parse(value.dump()).dump();
  } else {
    figure.fault =
        fmt::format("{} is not a number and can only be compared exactly", on_one_line(rule.metric));
  }
  return figure;
}

// Whether every trial would replay the same recording from the same moment, so that one was run.
bool is_one_run(const OrderedJson& result) {
  const JsonPointer one_run("/recordings/one_run");
  return result.contains(one_run) && result.at(one_run) == true;
}

// A value a trial.
void take_trials(const OrderedJson& column, RunFigure& figure) {
  std::size_t unknown = 0;
  for (const OrderedJson& value : column) {
    if (value.is_number())
      figure.values.push_back(value.get<double>());
    else
      ++unknown;
  }
  if (unknown == 0) return;
  figure.fault = fmt::format("{} of {} trials have no {}: they did not reach the goal, or no price is set",
                             unknown, column.size(), figure.rule.metric);
  figure.values.clear();
}

RunFigure figure_of(const std::string& run, const std::string& policy, const OrderedJson& outcome,
                    const OrderedJson& columns, const MetricRule& rule) {
  RunFigure figure{.name = fmt::format("{}/{}/{}", run, policy, rule.metric), .policy = policy, .rule = rule};
  const std::string refused = text_at(outcome, "refused");
  if (!refused.empty()) {
    figure.fault = refused;
  } else if (!columns.contains(policy) || !columns.at(policy).contains(rule.metric)) {
    figure.fault = fmt::format("trials of {} have no {}", policy, in_quotes(rule.metric));
  } else {
    take_trials(columns.at(policy).at(rule.metric), figure);
  }
  return figure;
}

// Whether the metric is specific to other policies, which have values of it.
bool is_of_others(const std::string& policy, const std::string& metric, const OrderedJson& columns) {
  const auto has = [&](const OrderedJson& trials) { return trials.contains(metric); };
  if (find_trial_metric(metric) || (columns.contains(policy) && has(columns.at(policy)))) return false;
  return std::any_of(columns.begin(), columns.end(), has);
}

RunFigures read_figures(const SuiteRun& run, const OrderedJson& result) {
  RunFigures figures{.origin = origin_of(result), .parts = all_parts(result)};
  for (const MetricRule& rule : run.metrics) {
    if (rule.is_pointer()) figures.figures.push_back(figure_at(result, run.name, rule));
  }
  if (!run.has_trials()) return figures;
  figures.is_one_run = is_one_run(result);
  const OrderedJson& columns = result.at("trials_by_policy");
  for (const auto& [policy, outcome] : result.at("policies").items()) {
    for (const MetricRule& rule : run.metrics) {
      if (rule.is_pointer() || is_of_others(policy, rule.metric, columns)) continue;
      RunFigure figure = figure_of(run.name, policy, outcome, columns, rule);
      if (figures.is_one_run && figure.fault.empty() && rule.tolerance.is_statistical()) {
        figure.fault =
            "every trial would replay the same recording from the same start, so there is only one run, "
            "without a confidence interval; use a tolerance without a confidence level";
      }
      figures.figures.push_back(std::move(figure));
    }
  }
  return figures;
}

}  // namespace

Result<RunFigures> figures_of(const SuiteRun& run, std::string_view json) {
  const std::optional<OrderedJson> result = OrderedJson::try_parse(json);
  if (!result || !text_at(*result, "schema").starts_with("goodput."))
    return Error{"the command has no JSON result"};
  try {
    return read_figures(run, *result);
  } catch (const JsonError& error) {  // a pointer that is none, another program's result
    return Error{fmt::format("the result of the command is not as expected: {}", on_one_line(error.what()))};
  }
}

}  // namespace goodput
