// `goodput plan-step`: what one training step of a plan takes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "models/cost/collectives.h"
#include "models/cost/cost_models.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/key_notes.h"
#include "tools/cli/named_choice.h"
#include "tools/cli/output_file.h"
#include "tools/plan_step/plan_provenance.h"
#include "tools/plan_step/plan_step_batch.h"
#include "tools/plan_step/plan_step_report.h"
#include "tools/plan_step/planned_timeline.h"

namespace goodput {
namespace {

constexpr std::string_view kGranularityNames[] = {"ops", "layers"};

class PlanStepCommand final : public Command {
 public:
  void configure(Options& options) override {
    options.add("plan", plan_path_, "PLAN", "Plan: a name from 'goodput list plans', or a file")
        .listed("plans")
        .required();
    options
        .add("--stack", stack_, "STACK",
             "Software stack to use instead of the plan's: a name from 'goodput list stacks', or a file")
        .listed("stacks");
    options
        .add("--batch", batch_path_, "ROWS.csv",
             "Predict the step time for each row of a CSV of sizes and parallelism, and print the CSV with a "
             "column predicted_ms appended")
        .input();
    options
        .add("--granularity", granularity_, "NAME",
             "Predict forward and backward passes layer by layer (\"layers\", default) or as a whole "
             "(\"ops\")")
        .one_of(kGranularityNames);
    options.add_flag("--contention", contention_,
                     "Also simulate the step event by event, with concurrent transfers sharing NICs");
    options.add("--timeline", timeline_path_, "FILE.json.gz", "Write the step as a Chrome trace for Perfetto")
        .output();
  }

  Result<ExitCode> run(const CommandContext& context) override {
    GOODPUT_TRY(const Granularity granularity,
                choose<Granularity>("granularity", "granularity", granularity_, kGranularityNames));
    GOODPUT_TRY_STATUS(check_options());
    GOODPUT_TRY(const config::Library library, config_library(context));
    GOODPUT_TRY(const std::string file, config_file(plan_path_, kPlanFiles, library, context));
    GOODPUT_TRY(const std::vector<config::Change> changes, stack_change(library, context));
    GOODPUT_TRY(TrainingPlan plan, read_training_plan(file, library, changes));
    GOODPUT_TRY_STATUS(check_files(plan, context));
    if (!batch_path_.empty()) {
      for (const std::string& line : key_note_lines(plan.unused, plan.file)) context.note(line);
      return run_batch(plan, granularity, context);
    }
    plan.parallel = settled(plan.parallel, plan.cluster.gpus_per_node);
    GOODPUT_TRY_STATUS(check_training_plan(plan));
    GOODPUT_TRY(const std::unique_ptr<CostModel> cost, make_cost_model(cost_inputs(plan)));
    GOODPUT_TRY(const PlannedStep step, build_planned_step(plan, *cost, granularity, context.options.seed));
    StepReport report = report_step(plan, step);
    if (contention_) {
      report.over_nics = step_time_over_nics(step, BytesPerSecond{nic_bytes_per_second(plan.cluster)});
    }
    const PlanStepResult result{plan, step, report, granularity};
    if (granularity == Granularity::kOps) {
      context.note(
          "--granularity ops: communication inside a pass counts as computation, and passes do not overlap");
    }
    if (!timeline_path_.empty()) {
      GOODPUT_TRY_STATUS(write_file_atomically(timeline_path_, [&](const std::string& temporary) {
        return write_step_timeline(step, temporary, timeline_path_);
      }));
    }
    if (context.options.wants_result()) GOODPUT_TRY_STATUS(write_json(result, context));
    context.print(plan_step_text(result));
    return ExitCode::kOk;
  }

 private:
  [[nodiscard]] Status check_options() const {
    if (timeline_path_ == "-") return Error{"--timeline must be a file, not stdout"};
    if (!batch_path_.empty() && !timeline_path_.empty()) {
      return Error{"--timeline shows one step; leave it out with --batch"};
    }
    if (!batch_path_.empty() && contention_) {
      return Error{"--contention applies to one step; leave it out with --batch"};
    }
    return Ok{};
  }

  // What --stack changes in the plan.
  Result<std::vector<config::Change>> stack_change(const config::Library& library,
                                                   const CommandContext& context) const {
    if (stack_.empty()) return std::vector<config::Change>{};
    GOODPUT_TRY(const std::string file, config_file(stack_, kStackFiles, library, context));
    const std::string path = std::filesystem::absolute(file).string();
    return std::vector<config::Change>{{"/stack", Json(path).dump(), "stack"}};
  }

  // Says what was read in place of something else; no output may be a file that the plan was read from.
  [[nodiscard]] Status check_files(const TrainingPlan& plan, const CommandContext& context) const {
    GOODPUT_TRY(const std::vector<config::Source> sources, plan_sources(plan));
    note_shadowed(sources, context);
    std::vector<std::string> inputs = files_of(sources);
    inputs.push_back(batch_path_);
    return check_file_roles(inputs, {{"--timeline", timeline_path_}}, context);
  }

  static Status write_json(const PlanStepResult& result, const CommandContext& context) {
    GOODPUT_TRY(const Provenance provenance,
                plan_provenance(result.plan, result.granularity, result.report.tier));
    OrderedJson json = begin_json_result("plan-step", context, provenance);
    add_plan_step_json(result, json);
    return write_json_result(json, context);
  }

  // Rows that cannot be predicted do not stop the others.
  Result<ExitCode> run_batch(const TrainingPlan& plan, Granularity granularity,
                             const CommandContext& context) const {
    GOODPUT_TRY(const BatchResult result, predict_rows(plan, batch_path_, granularity, context.options.seed));
    if (!result.others.empty())
      context.note(
          fmt::format("ignored columns, which are not keys of a plan: {}", fmt::join(result.others, ", ")));
    if (context.options.wants_result()) {
      GOODPUT_TRY(const Provenance provenance, plan_provenance(plan, granularity, result.tier));
      OrderedJson json = begin_json_result("plan-step-batch", context, provenance);
      json["rows"] = OrderedJson::array();
      for (const BatchRow& row : result.rows) {
        const auto if_predicted = [&](auto value) {
          return row.predicted_ms ? OrderedJson(value) : OrderedJson(nullptr);
        };
        json["rows"].push_back({{"line", row.line},
                                {"predicted_ms", or_null(row.predicted_ms)},
                                {"step_range_ms", if_predicted(OrderedJson{row.low_ms, row.high_ms})},
                                {"mfu", if_predicted(row.mfu)},
                                {"memory_gib", if_predicted(row.memory_gib)},
                                {"fits", if_predicted(row.fits)},
                                {"error", or_null(row.error)}});
      }
      GOODPUT_TRY_STATUS(write_json_result(json, context));
    }
    if (!context.options.json_on_stdout()) context.out << result.csv;
    for (const std::string& error : result.errors) context.err << "error: " << error << '\n';
    return result.errors.empty() ? ExitCode::kOk : ExitCode::kBadInput;
  }

  std::string plan_path_;
  std::string stack_;
  std::string batch_path_;
  std::string granularity_ = "layers";
  std::string timeline_path_;
  bool contention_ = false;
};

}  // namespace

CommandInfo command_plan_step() {
  return {.name = "plan-step",
          .summary = "Predict how long one training step of a plan takes, and where the time goes",
          .example =
              "goodput plan-step gpt3-175b-1024-a100\n"
              "goodput plan-step megatron_a100 --batch rows.csv > predicted.csv",
          .make = make_command<PlanStepCommand>};
}

}  // namespace goodput
