#include "tools/plan_step/fit_steps_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "sim/base/append.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

constexpr std::size_t kEnoughForRanges = 5;  // rows; with fewer, the ranges of the parent hold

std::string_view name_of(const FittedParameter& parameter) {
  return kFitParameterNames[static_cast<std::size_t>(parameter.parameter)];
}

bool is_bad(const FitStepsResult& result, std::size_t row) {
  return std::ranges::find(result.fit.bad_rows, row) != result.fit.bad_rows.end();
}

// Of the rows that were fitted.
double mean_error(const FitStepsResult& result, const std::vector<double>& errors) {
  std::vector<double> good;
  for (std::size_t row = 0; row < errors.size(); ++row) {
    if (!is_bad(result, row)) good.push_back(errors[row]);
  }
  return mean_size(good);
}

std::string parameters_text(const FitStepsResult& result) {
  std::string text = "\nChanged parameters (factors on the speed of a kernel that runs alone)\n";
  std::vector<std::string_view> at_bound;
  for (const FittedParameter& parameter : result.fit.parameters) {
    append(text, "  {:<10} {:8.3f} -> {:.3f}{}\n", name_of(parameter), parameter.before, parameter.after,
           parameter.is_at_bound ? "  (at its limit)" : "");
    if (parameter.is_at_bound) at_bound.push_back(name_of(parameter));
  }
  if (!at_bound.empty()) {
    append(text,
           "{} {} at the physical limit: these steps have costs or savings that goodput does not model.\n",
           fmt::join(at_bound, ", "), at_bound.size() == 1 ? "is" : "are");
  }
  return text;
}

std::string bad_rows_text(const FitStepsResult& result) {
  std::string text;
  for (const std::size_t row : result.fit.bad_rows) {
    const double measured = 1e3 * result.steps[row].seconds;
    append(text,
           "{}:{}: measured_ms is {:.6g}, but {:.6g} is predicted; check this row, which is left out of the "
           "fit\n",
           result.rows_file, result.lines[row], measured, measured * (1 + result.fit.after[row]));
  }
  return text;
}

std::string groups_text(const FitStepsResult& result) {
  struct Group {
    std::vector<double> before, after, left_out;
  };
  std::map<std::string, Group> groups;
  for (std::size_t row = 0; row < result.steps.size(); ++row) {
    if (is_bad(result, row)) continue;
    Group& group = groups[result.groups[row]];
    group.before.push_back(result.fit.before[row]);
    group.after.push_back(result.fit.after[row]);
    group.left_out.push_back(result.left_out[row]);
  }
  std::string text = "\nMean error by model       rows   before    after   not fitted\n";
  for (const auto& [name, group] : groups) {
    append(text, "  {:<22} {:6}  {:5.1f} %  {:5.1f} %  {:9.1f} %\n", name, group.before.size(),
           100 * mean_size(group.before), 100 * mean_size(group.after), 100 * mean_size(group.left_out));
  }
  return text;
}

double rounded(double value) {
  return std::stod(fmt::format("{:.4g}", value));
}

OrderedJson factors_json(KernelFactors factors, const KernelFactors& without) {
  for (const auto member :
       {&KernelFactors::gemm, &KernelFactors::fp8_gemm, &KernelFactors::attention, &KernelFactors::memory}) {
    if (factors.*member == without.*member)
      (factors.*member).reset();
    else
      factors.*member = rounded(*(factors.*member));
  }
  return config::write(config_fields(factors));
}

// Of the rows that were not taken for errors, by family.
std::vector<LeftOutRows> left_out_rows(const FitStepsResult& result) {
  std::map<StepFamily, std::vector<double>> by_family;
  for (std::size_t row = 0; row < result.steps.size(); ++row) {
    const TrainingPlan& plan = result.steps[row].plan;
    if (!is_bad(result, row))
      by_family[family_of(plan, plan.parallel)].push_back(rounded(1 / (1 + result.left_out[row])));
  }
  std::vector<LeftOutRows> rows;
  for (auto& [family, ratios] : by_family) rows.push_back({family, std::move(ratios)});
  return rows;
}

}  // namespace

std::string fit_steps_text(const FitStepsResult& result) {
  const StackFit& fit = result.fit;
  std::string text = fmt::format(
      "The fitted software stack is off by {:.1f} % on these {} steps ({} was off by {:.1f} %), and by "
      "{:.1f} % on steps left out of the fit.\n",
      100 * mean_error(result, fit.after), result.steps.size() - fit.bad_rows.size(), result.base.name,
      100 * mean_error(result, fit.before), 100 * mean_error(result, result.left_out));
  text += bad_rows_text(result);
  text += parameters_text(result);
  text += groups_text(result);
  return text;
}

void add_fit_steps_json(const FitStepsResult& result, OrderedJson& json) {
  const StackFit& fit = result.fit;
  json["base"] = result.base.name;
  json["rows_fitted"] = result.steps.size() - fit.bad_rows.size();
  json["mean_error"] = {{"before", mean_error(result, fit.before)},
                        {"after", mean_error(result, fit.after)},
                        {"left_out", mean_error(result, result.left_out)}};
  json["parameters"] = OrderedJson::array();
  for (const FittedParameter& parameter : fit.parameters) {
    json["parameters"].push_back({{"name", name_of(parameter)},
                                  {"before", parameter.before},
                                  {"after", parameter.after},
                                  {"at_bound", parameter.is_at_bound}});
  }
  json["rows"] = OrderedJson::array();
  for (std::size_t row = 0; row < result.steps.size(); ++row) {
    json["rows"].push_back({{"line", result.lines[row]},
                            {"error_before", fit.before[row]},
                            {"error_after", fit.after[row]},
                            {"error_left_out", result.left_out[row]},
                            {"bad", is_bad(result, row)}});
  }
}

std::string fitted_stack_file(const FitStepsResult& result, const std::string& name) {
  const SoftwareStack& fitted = result.fit.stack;
  const SoftwareStack& base = result.base;
  OrderedJson file;
  file["name"] = name;
  file["parent"] = result.base_parent;
  file["source"] = fmt::format(
      "goodput fit-steps: {} measured steps from {}; mean error {:.1f} %; {:.1f} % on steps that were not "
      "fitted",
      result.steps.size() - result.fit.bad_rows.size(),
      std::filesystem::path(result.rows_file).filename().string(), 100 * mean_error(result, result.fit.after),
      100 * mean_error(result, result.left_out));
  file["tier"] = "model";
  if (OrderedJson factors = factors_json(fitted.factors, base.factors); !factors.empty())
    file["factors"] = factors;
  if (!fitted.gpu_factors.empty()) {
    file["gpu_factors"] = OrderedJson::array();
    for (const GpuFactors& some : fitted.gpu_factors)
      file["gpu_factors"].push_back({{"gpus", some.gpus}, {"factors", factors_json(some.factors, {})}});
  }
  StatedEfficiency efficiency = fitted.efficiency;
  for (std::size_t i = 0; i < efficiency.values.size(); ++i) {
    std::optional<double>& value = efficiency.values[i];
    if (value == base.efficiency.values[i])
      value.reset();
    else
      value = rounded(*value);
  }
  if (efficiency.tier == base.efficiency.tier) efficiency.tier.reset();
  if (OrderedJson stated = config::write(config_fields(efficiency)); !stated.empty())
    file["efficiency"] = stated;
  std::vector<LeftOutRows> rows = left_out_rows(result);
  if (result.steps.size() - result.fit.bad_rows.size() < kEnoughForRanges) return file.dump(2) + "\n";
  std::vector<std::string> lines;
  for (LeftOutRows& family : rows) lines.push_back("    " + config::write(config_fields(family)).dump());
  std::string text = file.dump(2);
  text.resize(text.size() - 2);  // "\n}"
  return fmt::format("{},\n  \"left_out\": [\n{}\n  ]\n}}\n", text, fmt::join(lines, ",\n"));
}

}  // namespace goodput
