// `goodput completion SHELL`: the script that lets a shell complete goodput's command line.
#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <string>

#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "tools/cli/command.h"
#include "tools/cli/json_result.h"
#include "tools/help/completion.h"

namespace goodput {
namespace {

class CompletionCommand final : public Command {
 public:
  void configure(Options& options) override {
    options.add("shell", shell_, "SHELL", "Shell: bash, zsh or fish").one_of(names_of(kShells)).required();
  }

  Result<ExitCode> run(const CommandContext& context) override {
    GOODPUT_TRY(const Shell shell, find_named<Shell>(kShells, "shell", shell_));
    const std::string script = shell.completion(context.program());
    if (!context.options.json_on_stdout()) context.out << script;
    OrderedJson json = begin_json_result("completion", context, {});
    json["shell"] = shell.name;
    json["script"] = script;
    GOODPUT_TRY_STATUS(write_json_result(json, context));
    return ExitCode::kOk;
  }

 private:
  std::string shell_;
};

}  // namespace

CommandInfo command_completion() {
  return {.name = "completion",
          .summary = "Print a script that completes commands, options and names in a shell",
          .example =
              "source <(goodput completion bash)\n"
              "goodput completion zsh > ~/.zfunc/_goodput\n"
              "goodput completion fish > ~/.config/fish/completions/goodput.fish",
          .make = make_command<CompletionCommand>};
}

}  // namespace goodput
