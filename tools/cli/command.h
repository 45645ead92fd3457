// What a command of `goodput` is, and what every command can be told.
//
// A command lives in tools/<folder>/cmd_<name>.cpp: a class with its options as members and
// `CommandInfo command_<name>()`; its name is a line in tools/commands.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

#include "tools/cli/command_help.h"
#include "tools/cli/options.h"

namespace goodput {

namespace config {
class ForeignFiles;
}  // namespace config

enum class ExitCode : int {
  kOk = 0,
  kBadInput = 1,  // one line on stderr says what to mend
  kOurBug = 2,
  kRegression = 3,    // a check ran and found one
  kInterrupted = 130  // by SIGINT, SIGTERM or SIGHUP
};

struct ExitCodeMeaning {
  ExitCode code;
  std::string_view meaning;
};
inline constexpr ExitCodeMeaning kExitCodes[] = {
    {ExitCode::kOk, "Success."},
    {ExitCode::kBadInput, "Bad input: one line on stderr says what is wrong, where, and what to do."},
    {ExitCode::kOurBug, "A bug in goodput: please report it."},
    {ExitCode::kRegression, "A check found a regression."},
    {ExitCode::kInterrupted, "Interrupted by SIGINT, SIGTERM or SIGHUP; no partial files are left behind."},
};

// Options that every command has.
struct GlobalOptions {
  std::string
      json_path;  // --json: where the result goes as JSON; "-": stdout, then nothing else; empty: nowhere
  std::string report_path;  // --report: where the result goes as a page; empty: nowhere
  bool quiet =
      false;  // --quiet: no text for people, neither results nor notes; errors and asked-for data remain
  std::uint64_t seed = 0;  // --seed: of everything random
  int jobs = 0;            // --jobs: threads, at least 1 when a command runs; results do not depend on it
  std::vector<std::string> configs{};  // --configs: folders of config files, before all others

  [[nodiscard]] bool json_on_stdout() const { return json_path == "-"; }
  [[nodiscard]] bool wants_result() const { return !json_path.empty() || !report_path.empty(); }
};

// What stdout and stderr can show.
struct Terminal {
  bool colour = false;          // never when stdout is no terminal
  bool true_colour = false;     // colours of 24 bits, not only the 256 of a palette
  std::size_t width = 100;      // columns
  bool shows_progress = false;  // stderr is a terminal
};

// What a variable of the environment says; empty where it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// Runs a command line, without the program's name, that writes here; from any thread.
using RunProgram =
    std::function<ExitCode(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err)>;

// The world of a running command. Text goes through print() and note(), which know when to be silent.
struct CommandContext {
  GlobalOptions options;
  std::ostream& out;  // stdout: results
  std::ostream& err;  // stderr: messages
  Terminal terminal = {};
  Environment environment = {};               // none: nothing is set
  std::function<CommandHelp()> program = {};  // what the whole command line can say
  RunProgram run_program = {};                // this program again, within this process
  std::shared_ptr<config::ForeignFiles> foreign_files =
      {};  // launch scripts as plans; none: they are not read

  // Of the environment.
  [[nodiscard]] std::string variable(const std::string& name) const {
    return environment ? environment(name) : std::string{};
  }

  // Results for people: to `out`, unless quiet or JSON has taken stdout.
  void print(std::string_view text) const;

  // Something to know that is no error: `note: TEXT` on `err`, unless quiet.
  void note(std::string_view text) const;
};

class Command {
 public:
  virtual ~Command() = default;

  // Declares options and arguments and binds them to members. The global options are there already, in every
  // sub-command (`goodput trace info`) too.
  virtual void configure(Options& options) = 0;

  // Called once, after the command line was parsed. An Error is printed as `error: MESSAGE` and means
  // kBadInput.
  virtual Result<ExitCode> run(const CommandContext& context) = 0;
};

struct CommandInfo {
  std::string_view name;
  std::string_view summary;  // one line for `goodput --help`
  std::string_view example;  // command lines, shown below the options by `goodput NAME --help`
  std::unique_ptr<Command> (*make)();
};

// For CommandInfo::make.
template <typename Made>
[[nodiscard]] std::unique_ptr<Command> make_command() {
  return std::make_unique<Made>();
}

}  // namespace goodput
