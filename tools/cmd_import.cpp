// `goodput import plan|failures|calibration`: files of other programs to files of goodput.
#include <optional>

#include "tools/calibration/import_calibration.h"
#include "tools/cli/command.h"
#include "tools/failures/import_failures.h"
#include "tools/launch/import_plan.h"

namespace goodput {
namespace {

class ImportCommand final : public Command {
 public:
  void configure(Options& options) override {
    plan_options_.emplace(options.add_subcommand(
        "plan", "Turn launch scripts and model configs of training frameworks into a plan or a model"));
    add_import_plan_options(*plan_options_, plan_);
    failures_options_.emplace(options.add_subcommand("failures", "Turn failure logs into a failure preset"));
    add_import_failures_options(*failures_options_, failures_);
    Options calibration = options.add_subcommand(
        "calibration", "Turn logs of nccl-tests and CSV files of GEMM times into a calibration");
    add_import_calibration_options(calibration, calibration_);
  }

  Result<ExitCode> run(const CommandContext& context) override {
    if (plan_options_->are_chosen()) return run_import_plan(plan_, context);
    if (failures_options_->are_chosen()) return run_import_failures(failures_, context);
    return run_import_calibration(calibration_, context);
  }

 private:
  ImportPlanOptions plan_;
  std::optional<Options> plan_options_;
  ImportFailuresOptions failures_;
  std::optional<Options> failures_options_;
  ImportCalibrationOptions calibration_;
};

}  // namespace

CommandInfo command_import() {
  return {
      .name = "import",
      .summary = "Turn launch scripts, failure logs and benchmark logs into plans, presets and calibrations",
      .example =
          "goodput import plan pretrain_llama.sh --cluster dgx-h100 --out plan.json\n"
          "goodput import failures events.csv --nodes 128 --out failures.json\n"
          "goodput import calibration all_reduce.log --out calibration.json",
      .make = make_command<ImportCommand>};
}

}  // namespace goodput
