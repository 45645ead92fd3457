// `goodput export plan PLAN --to FORMAT`: a plan as a launch file of a training framework.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "models/launch/export_launch.h"
#include "models/plan/training_plan.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/output_file.h"

namespace goodput {
namespace {

struct ExportPlanOptions {
  std::string plan;
  std::string format;
  std::string out;  // empty, "-": stdout
};

Status write_export_json(const ExportPlanOptions& options, const std::string& file, const std::string& text,
                         const CommandContext& context) {
  Hash hash;
  hash.add(text);
  Provenance provenance;
  provenance.config_hash = hash.value();
  provenance.config_files = {file};
  provenance.lowest_tier = "assumed";
  OrderedJson json = begin_json_result("export-plan", context, provenance);
  json["format"] = options.format;
  json["text"] = text;
  json["file"] = options.out;
  return write_json_result(json, context);
}

Result<ExitCode> run_export_plan(const ExportPlanOptions& options, const CommandContext& context) {
  GOODPUT_TRY(const config::Library library, config_library(context));
  GOODPUT_TRY(const std::string file, config_file(options.plan, kPlanFiles, library, context));
  const bool is_on_stdout = options.out.empty() || options.out == "-";
  GOODPUT_TRY_STATUS(check_file_roles({file}, {{"--out", options.out}}, context));
  GOODPUT_TRY(const launch::LaunchExport target, launch::find_launch_export(options.format));
  GOODPUT_TRY(const TrainingPlan plan, read_training_plan(file, library));
  GOODPUT_TRY(const std::string text, launch::export_launch(plan, options.format));
  if (!is_on_stdout) GOODPUT_TRY_STATUS(write_text_atomically(options.out, text));
  if (context.options.wants_result()) GOODPUT_TRY_STATUS(write_export_json(options, file, text, context));
  if (is_on_stdout && !context.options.json_on_stdout()) context.out << text;
  const std::string sentence = fmt::format("{} for {}; before you start it, {}", launch::launch_title(plan),
                                           target.title, target.to_do);
  if (is_on_stdout)
    context.note(sentence);
  else
    context.print(fmt::format("Wrote {}: {}\n", options.out, sentence));
  return ExitCode::kOk;
}

class ExportCommand final : public Command {
 public:
  void configure(Options& options) override {
    Options plan = options.add_subcommand("plan", "Write a plan as a launch file of a training framework");
    plan.add("plan", plan_.plan, "PLAN", "Plan to write: a name from 'goodput list plans', or a file")
        .required()
        .input()
        .listed("plans");
    plan.add("--to", plan_.format, "FORMAT",
             "Framework: Megatron-LM (a launch script), NeMo (YAML) or TorchTitan (TOML)")
        .required()
        .one_of(names_of(launch::launch_exports()));
    plan.add("--out", plan_.out, "FILE", "Write the launch file to this file (default: stdout)").output();
  }

  Result<ExitCode> run(const CommandContext& context) override { return run_export_plan(plan_, context); }

 private:
  ExportPlanOptions plan_;
};

}  // namespace

CommandInfo command_export() {
  return {.name = "export",
          .summary = "Write a plan as a launch file of a training framework",
          .example =
              "goodput export plan plan.json --to megatron --out launch.sh\n"
              "goodput export plan llama3-8b-h100 --to torchtitan",
          .make = make_command<ExportCommand>};
}

}  // namespace goodput
