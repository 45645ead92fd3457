// docs/formats/check.md describes it.

#include "sim/base/json.h"
#include "tools/check/check_report.h"
#include "tools/check/check_summary.h"
#include "tools/cli/json_result.h"

namespace goodput {
namespace {

OrderedJson tolerance_json(const Tolerance& tolerance) {
  if (tolerance.kind == Tolerance::Kind::kExact) return nullptr;
  OrderedJson json = {{tolerance.is_relative() ? "relative" : "absolute", tolerance.size}};
  if (tolerance.confidence) json["confidence"] = *tolerance.confidence;
  return json;
}

std::string_view comparison(const Tolerance& tolerance) {
  if (tolerance.is_statistical()) return "statistical";
  return tolerance.kind == Tolerance::Kind::kExact ? "exact" : "tolerance";
}

// Nothing of a figure that is gone, or whose run failed: it has no rule.
std::string_view direction_name(const MetricRule& rule) {
  return rule.metric.empty() ? "same" : kDirectionNames[static_cast<std::size_t>(rule.direction())];
}

OrderedJson figure_json(const CheckedFigure& figure, const Suite& suite) {
  OrderedJson json = {{"name", figure.name}, {"run", figure.run}, {"policy", figure.policy}};
  json["command"] = nullptr;
  for (const SuiteRun& run : suite.runs) {
    if (run.name == figure.run) json["command"] = run.command;
  }
  json["metric"] = figure.rule.metric;
  json["better"] = direction_name(figure.rule);
  json["compare"] = comparison(figure.rule.tolerance);
  json["tolerance"] = tolerance_json(figure.rule.tolerance);
  json["baseline"] = or_null(figure.baseline);
  json["candidate"] = or_null(figure.figure);
  json["change"] = or_null(figure.change);
  json["change_is_relative"] = figure.is_relative;
  json["ci"] = figure.test ? OrderedJson(figure.test->interval) : OrderedJson(nullptr);
  json["p_value"] = or_null(figure.p_value);
  json["trials"] = figure.test ? figure.test->trials : 0;
  json["looks"] = figure.looks;
  json["outcome"] = kOutcomeNames[static_cast<std::size_t>(figure.outcome)];
  json["reason"] = figure.reason;
  json["trials_needed"] = figure.open ? or_null(figure.open->needed) : OrderedJson(nullptr);
  json["why"] = figure.why;
  return json;
}

OrderedJson ratio_json(const SpeedRatio& ratio) {
  return {{"of_minima", ratio.of_minima}, {"of_medians", ratio.of_medians}};
}

OrderedJson speed_json(const SpeedResult& speed) {
  return {{"run", speed.run},
          {"rounds", speed.rounds},
          {"baseline_s", speed.baseline_s},
          {"candidate_s", speed.program_s},
          {"aa", ratio_json(speed.noise)},
          {"ab", ratio_json(speed.ratio)},
          {"outcome", speed.is_slower()   ? "slower"
                      : speed.is_faster() ? "faster"
                                          : "same"}};
}

}  // namespace

void add_check_json(const CheckReport& report, OrderedJson& json) {
  json["suite"] = report.suite.name;
  json["verdict"] = report.verdict();
  json["headline"] = check_headline(report);
  json["undecided"] = undecided_text(report);
  json["baseline"] = report.baseline_file.empty() ? OrderedJson(nullptr) : OrderedJson(report.baseline_file);
  json["notes"] = report.notes;
  for (std::size_t i = 0; i < kOutcomes; ++i)
    json["counts"][std::string(kOutcomeNames[i])] = report.count(static_cast<Outcome>(i));
  json["cases"] = OrderedJson::array();
  for (const CheckedFigure& figure : report.figures)
    json["cases"].push_back(figure_json(figure, report.suite));
  json["time"] = OrderedJson::array();
  for (const SpeedResult& speed : report.speeds) json["time"].push_back(speed_json(speed));
}

}  // namespace goodput
