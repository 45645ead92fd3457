// `goodput fit-steps`: a software stack fitted to measured training steps.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "models/fit/stack_fit.h"
#include "models/stack/software_stack.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/named_choice.h"
#include "tools/cli/output_file.h"
#include "tools/plan_step/batch_rows.h"
#include "tools/plan_step/fit_steps_report.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

class FitStepsCommand final : public Command {
 public:
  void configure(Options& options) override {
    options
        .add("measured", rows_path_, "MEASURED.csv",
             "CSV file of measured steps, with the columns of 'goodput plan-step --batch' and measured_ms")
        .input()
        .required();
    options
        .add("--stack", stack_, "STACK",
             "Software stack of the measured steps, the starting point of the fit: a name from 'goodput list "
             "stacks', or a file")
        .listed("stacks")
        .required();
    options.add("--out", out_, "FILE.json", "Write the fitted software stack to this file")
        .output()
        .required();
    options
        .add("--plan", plan_, "PLAN",
             "Plan that sets the keys for which the CSV has no column: a name from 'goodput list plans', or "
             "a file")
        .listed("plans");
    options
        .add("--parameter", parameters_, "NAME",
             "Fit this parameter; repeatable, at most 4 (default: the parameters that step times depend on "
             "most)")
        .one_value_each()
        .one_of(kFitParameterNames);
  }

  Result<ExitCode> run(const CommandContext& context) override {
    GOODPUT_TRY(const config::Library library, config_library(context));
    GOODPUT_TRY(const std::string stack_file, config_file(stack_, kStackFiles, library, context));
    GOODPUT_TRY_STATUS(check_file_roles({rows_path_, stack_file}, {{"--out", out_}}, context));
    GOODPUT_TRY(const SoftwareStack base, read_stack(stack_file, library));
    GOODPUT_TRY(const TrainingPlan plan, base_plan(library, context));
    GOODPUT_TRY(const FitOptions options, fit_options(context));
    FitStepsResult result;
    result.rows_file = rows_path_;
    result.base = base;
    result.base_parent = config::is_name(stack_) ? stack_ : fs::absolute(stack_file).string();
    GOODPUT_TRY_STATUS(read_rows(plan, base, result, context));
    GOODPUT_TRY(result.fit, fit_stack(result.steps, base, options));
    GOODPUT_TRY(result.left_out, left_out_errors(result.steps, result.groups, base, options));
    const std::string name = fs::path(out_).stem().string();
    GOODPUT_TRY_STATUS(write_text_atomically(out_, fitted_stack_file(result, name)));
    if (context.options.wants_result())
      GOODPUT_TRY_STATUS(write_json(result, {rows_path_, stack_file}, context));
    context.print(fit_steps_text(result));
    return ExitCode::kOk;
  }

 private:
  [[nodiscard]] Result<TrainingPlan> base_plan(const config::Library& library,
                                               const CommandContext& context) const {
    if (!plan_.empty()) {
      GOODPUT_TRY(const std::string file, config_file(plan_, kPlanFiles, library, context));
      return read_training_plan(file, library);
    }
    TrainingPlan plan;
    plan.library = library;
    return plan;
  }

  // Rows without a measured time are skipped; one that cannot be predicted ends the command.
  [[nodiscard]] Status read_rows(const TrainingPlan& plan, const SoftwareStack& base, FitStepsResult& result,
                                 const CommandContext& context) const {
    GOODPUT_TRY(BatchRows rows, BatchRows::open(plan, rows_path_, "stack"));
    if (!rows.has_measured()) return rows.error(fmt::format("has no column {}", kMeasuredColumn));
    if (plan_.empty()) {
      for (const std::string_view column : {"cluster", "model"}) {
        if (std::ranges::find(rows.header(), column) == rows.header().end())
          return rows.error(fmt::format("has no column {}; add it, or name a plan with --plan", column));
      }
    }
    std::size_t unmeasured = 0;
    while (rows.next()) {
      GOODPUT_TRY(BatchInput input, rows.read());
      if (!input.measured_ms) {
        ++unmeasured;
        continue;
      }
      use_stack(input.plan, base);
      result.lines.push_back(input.line);
      result.groups.push_back(input.plan.model.name);
      result.steps.push_back({std::move(input.plan), 1e-3 * *input.measured_ms});
    }
    if (!rows.others().empty())
      context.note(
          fmt::format("ignored columns, which are not keys of a plan: {}", fmt::join(rows.others(), ", ")));
    if (unmeasured > 0)
      context.note(
          fmt::format("number of rows skipped because they have no {}: {}", kMeasuredColumn, unmeasured));
    if (result.steps.empty()) return Error{fmt::format("{}: no row has a measured step time", rows_path_)};
    return Ok{};
  }

  [[nodiscard]] Result<FitOptions> fit_options(const CommandContext& context) const {
    FitOptions options;
    options.jobs = static_cast<unsigned>(context.options.jobs);
    for (const std::string& name : parameters_) {
      GOODPUT_TRY(const FitParameter parameter,
                  choose<FitParameter>("parameter", "parameter", name, kFitParameterNames));
      options.parameters.push_back(parameter);
    }
    if (options.parameters.size() > kMostFitted)
      return Error{fmt::format("--parameter: at most {} parameters can be fitted, not {}", kMostFitted,
                               parameters_.size())};
    return options;
  }

  static Status write_json(const FitStepsResult& result, std::vector<std::string> files,
                           const CommandContext& context) {
    Provenance provenance;
    provenance.config_files = std::move(files);
    provenance.lowest_tier = to_string(Tier::kModel);
    OrderedJson json = begin_json_result("fit-steps", context, provenance);
    add_fit_steps_json(result, json);
    return write_json_result(json, context);
  }

  std::string rows_path_;
  std::string stack_;
  std::string out_;
  std::string plan_;
  std::vector<std::string> parameters_;
};

}  // namespace

CommandInfo command_fit_steps() {
  return {.name = "fit-steps",
          .summary = "Fit a software stack to measured training steps",
          .example =
              "goodput fit-steps measured.csv --stack nemo --out mine.json\n"
              "goodput plan-step llama3-8b-h100 --stack mine.json",
          .make = make_command<FitStepsCommand>};
}

}  // namespace goodput
