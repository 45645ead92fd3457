// `goodput export plan PLAN --to FORMAT`: the launch arguments of a plan.
#include "tools/cli/command.h"

namespace goodput {
namespace {

class ExportCommand final : public Command {
 public:
  void configure(Options& options) override {
    options.add_subcommand("plan", "Write the launch arguments of a plan");
  }
  Result<ExitCode> run(const CommandContext& /*context*/) override { return ExitCode::kOk; }
};

}  // namespace

CommandInfo command_export() {
  return {.name = "export",
          .summary = "Write the launch arguments of a plan",
          .example = "goodput export plan plan.json --to megatron",
          .make = make_command<ExportCommand>};
}

}  // namespace goodput
