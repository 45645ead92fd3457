// The shipped suite finds what somebody broke.
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "tests/support/mutant_runner.h"
#include "tests/support/mutated_policy.h"
#include "tools/check/baseline.h"
#include "tools/check/run_check.h"
#include "tools/check/suite.h"

namespace goodput {
namespace {

using testing::Mutant;
using testing::MutantRunner;

Suite smoke() {
  Suite suite = read_suite(GOODPUT_CONFIGS "/suites/smoke.json").value();
  std::erase_if(suite.runs, [](const SuiteRun& run) { return run.command.front() != "simulate"; });
  return suite;
}

Baseline smoke_baseline(const Suite& suite) {
  Baseline baseline = read_baseline(GOODPUT_CONFIGS "/suites/baselines/smoke.json").value();
  std::erase_if(baseline.figures, [&](const auto& figure) {
    const std::string run = figure.first.substr(0, figure.first.find('/'));
    return std::none_of(suite.runs.begin(), suite.runs.end(),
                        [&](const SuiteRun& one) { return one.name == run; });
  });
  return baseline;
}

CheckOptions fail_fast() {
  CheckOptions options;
  options.jobs = 2;
  options.stops_at_regression = true;
  return options;
}

TEST_SUITE_BEGIN("release-only");

TEST_CASE("smoke suite: what is not changed is the same, trial by trial") {
  const Suite suite = smoke();
  const Baseline baseline = smoke_baseline(suite);
  const Mutant none;
  const CheckReport report = check_suite(suite, &baseline, MutantRunner(none), nullptr, fail_fast()).value();
  CHECK(report.verdict() == "ok");
  CHECK(report.count(Outcome::kSame) == baseline.figures.size());
}

TEST_CASE("smoke suite: every one of twelve mutants of policies and engine fails it") {
  const Suite suite = smoke();
  const Baseline baseline = smoke_baseline(suite);
  CHECK(testing::mutants().size() == 12);
  for (const Mutant& mutant : testing::mutants()) {
    const CheckReport report =
        check_suite(suite, &baseline, MutantRunner(mutant), nullptr, fail_fast()).value();
    CAPTURE(mutant.name);
    CHECK(report.verdict() == "regression");
    CHECK(exit_code(report) == ExitCode::kRegression);
    MESSAGE(mutant.name << ": " << report.figures.front().name << " " << change_text(report.figures.front()));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace goodput
