// `goodput merge`: the results of a sweep that several processes ran.
#include <string>

#include "tools/cli/command.h"
#include "tools/sweep/sweep_report.h"

namespace goodput {
namespace {

class MergeCommand final : public Command {
 public:
  void configure(Options& options) override {
    options.add("folder", folder_, "DIR", "The folder of a sweep (--out) whose shards are all done")
        .folder()
        .required();
  }

  Result<ExitCode> run(const CommandContext& context) override { return merge_and_report(folder_, context); }

 private:
  std::string folder_;
};

}  // namespace

CommandInfo command_merge() {
  return {.name = "merge",
          .summary = "the results of a sweep that was run in shards; the last one to finish does it, too",
          .example = "goodput merge sweep",
          .make = make_command<MergeCommand>};
}

}  // namespace goodput
