#include "tools/check/suite_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "tools/check/child_program.h"

namespace goodput {
namespace {

// `--seed` is in "--seed" and in "--seed=5".
bool has_option(const SuiteRun& run, std::string_view option) {
  return std::any_of(run.command.begin(), run.command.end(),
                     [option](std::string_view word) { return word.substr(0, word.find('=')) == option; });
}

// The last line of what a command says that is an error.
std::string error_in(std::string_view messages, ExitCode code) {
  constexpr std::string_view kError = "error: ";
  std::string found;
  for (const std::string_view line : split(messages, '\n')) {
    if (line.starts_with(kError)) found = line.substr(kError.size());
  }
  if (!found.empty()) return found;
  return fmt::format("the command failed with exit code {}", static_cast<int>(code));
}

Result<RunFigures> figures_or_error(const SuiteRun& run, ExitCode code, std::string_view out,
                                    std::string_view messages) {
  if (code != ExitCode::kOk) return Error{error_in(messages, code)};
  return figures_of(run, out);
}

}  // namespace

std::vector<std::string> suite_arguments(const SuiteRun& run, TrialRange trials,
                                         std::span<const std::string> policies,
                                         const RunnerOptions& options) {
  std::vector<std::string> all = run.command;
  const auto add = [&all](const char* option, const std::string& value) {
    all.emplace_back(option);
    all.push_back(value);
  };
  add("--json", "-");
  all.emplace_back("--quiet");
  add("--jobs", "1");
  if (!has_option(run, "--seed")) add("--seed", fmt::format("{}", options.seed));
  for (const std::string& folder : options.configs) add("--configs", folder);
  if (run.command.front() == "simulate") {
    for (const std::string& command : options.policies.commands) add("--policy-command", command);
    if (!options.policies.commands.empty())
      add("--policy-timeout-s", fmt::format("{}", options.policies.timeout_s));
  }
  if (!run.has_trials()) return all;
  add("--trials", fmt::format("{}", trials.count));
  if (trials.first > 0) add("--first-trial", fmt::format("{}", trials.first));
  all.emplace_back("--json-trials");
  if (has_option(run, "--policy")) return all;
  for (const std::string& policy : policies) add("--policy", policy);
  return all;
}

ThisProgram::ThisProgram(RunProgram run_program, RunnerOptions options)
    : run_program_(std::move(run_program)), options_(std::move(options)) {}

Result<RunFigures> ThisProgram::run(const SuiteRun& run, TrialRange trials,
                                    std::span<const std::string> policies) const {
  std::ostringstream out;
  std::ostringstream messages;
  try {
    const ExitCode code = run_program_(suite_arguments(run, trials, policies, options_), out, messages);
    return figures_or_error(run, code, out.view(), messages.view());
  } catch (const InternalError& error) {  // of this run: what others found stands
    return Error{fmt::format("a bug in goodput; please report it: {}", error.what())};
  }
}

OtherProgram::OtherProgram(std::string path, RunnerOptions options)
    : path_(std::move(path)), options_(std::move(options)) {}

Result<RunFigures> OtherProgram::run(const SuiteRun& run, TrialRange trials,
                                     std::span<const std::string> policies) const {
  GOODPUT_TRY(const ChildResult child, run_child(path_, suite_arguments(run, trials, policies, options_)));
  return figures_or_error(run, static_cast<ExitCode>(child.exit_code), child.out, child.messages);
}

}  // namespace goodput
