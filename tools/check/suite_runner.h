// Runs the commands of a suite: by this program, within this process, or by another one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/check/run_figures.h"
#include "tools/check/suite.h"
#include "tools/cli/command.h"
#include "tools/simulate/policy_commands.h"

namespace goodput {

// Of all trials that a seed has. Runs without figures of trials have none.
struct TrialRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class SuiteRunner {
 public:
  virtual ~SuiteRunner() = default;

  // What the run shows; `policies`: of these only, none: of all. From any thread. The Error is the command's.
  [[nodiscard]] virtual Result<RunFigures> run(const SuiteRun& run, TrialRange trials,
                                               std::span<const std::string> policies) const = 0;
};

// What every run is told besides its own words.
struct RunnerOptions {
  std::uint64_t seed = 0;
  std::vector<std::string> configs{};  // --configs
  PolicyCommandOptions policies{};     // for runs of simulate
};

// The command line that is run, without the program's name.
[[nodiscard]] std::vector<std::string> suite_arguments(const SuiteRun& run, TrialRange trials,
                                                       std::span<const std::string> policies,
                                                       const RunnerOptions& options);

class ThisProgram final : public SuiteRunner {
 public:
  ThisProgram(RunProgram run_program, RunnerOptions options);
  [[nodiscard]] Result<RunFigures> run(const SuiteRun& run, TrialRange trials,
                                       std::span<const std::string> policies) const override;

 private:
  RunProgram run_program_;
  RunnerOptions options_;
};

class OtherProgram final : public SuiteRunner {
 public:
  OtherProgram(std::string path, RunnerOptions options);
  [[nodiscard]] Result<RunFigures> run(const SuiteRun& run, TrialRange trials,
                                       std::span<const std::string> policies) const override;

 private:
  std::string path_;
  RunnerOptions options_;
};

}  // namespace goodput
