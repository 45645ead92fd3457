// `goodput merge`: the results of a sweep that several processes ran.
#include <string>

#include "tools/cli/command.h"
#include "tools/sweep/sweep_report.h"

namespace goodput {
namespace {

class MergeCommand final : public Command {
 public:
  void configure(Options& options) override {
    options.add("folder", folder_, "DIR", "Folder (--out) of a sweep whose shards have all finished")
        .folder()
        .required();
  }

  Result<ExitCode> run(const CommandContext& context) override { return merge_and_report(folder_, context); }

 private:
  std::string folder_;
};

}  // namespace

CommandInfo command_merge() {
  return {
      .name = "merge",
      .summary = "Merge the results of a sweep that ran in shards; the last shard to finish also does this",
      .example = "goodput merge sweep",
      .make = make_command<MergeCommand>};
}

}  // namespace goodput
