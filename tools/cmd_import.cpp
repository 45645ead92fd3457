// `goodput import plan|...`: files of other programs to files of goodput.
#include <optional>

#include "tools/cli/command.h"
#include "tools/launch/import_plan.h"

namespace goodput {
namespace {

class ImportCommand final : public Command {
 public:
  void configure(Options& options) override {
    plan_options_.emplace(options.add_subcommand(
        "plan", "Turn launch scripts and model configs of training frameworks into a plan or a model"));
    add_import_plan_options(*plan_options_, plan_);
  }

  Result<ExitCode> run(const CommandContext& context) override { return run_import_plan(plan_, context); }

 private:
  ImportPlanOptions plan_;
  std::optional<Options> plan_options_;
};

}  // namespace

CommandInfo command_import() {
  return {.name = "import",
          .summary = "Turn launch scripts and model configs of training frameworks into plans and models",
          .example =
              "goodput import plan pretrain_llama.sh --cluster dgx-h100 --out plan.json\n"
              "goodput import plan config.json --out model.json",
          .make = make_command<ImportCommand>};
}

}  // namespace goodput
