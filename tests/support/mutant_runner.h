// Runs a suite with policies, failures or the engine changed.
#pragma once

#include <span>
#include <string>

#include "tests/support/mutated_policy.h"
#include "tools/check/suite_runner.h"

namespace goodput::testing {

// Of `simulate SCENARIO`; everything else the program runs, as it is. Seed 0.
class MutantRunner final : public SuiteRunner {
 public:
  // `mutant` must outlive it.
  explicit MutantRunner(const Mutant& mutant) : mutant_(mutant) {}

  [[nodiscard]] Result<RunFigures> run(const SuiteRun& run, TrialRange trials,
                                       std::span<const std::string> policies) const override;

 private:
  const Mutant& mutant_;
};

// The program itself.
[[nodiscard]] RunProgram this_program();

}  // namespace goodput::testing
