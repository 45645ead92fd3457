// What came of the runs of a suite.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/check/sequential_test.h"
#include "tools/check/baseline.h"
#include "tools/check/check_report.h"
#include "tools/check/run_figures.h"
#include "tools/check/suite.h"

namespace goodput {

// One figure against what it was: asks for the trials it needs, and says what came of it.
class FigureCheck {
 public:
  // `before`: nothing where the figure is new. `most`: pairs of trials there can be; `questions`: figures of
  // the suite that are asked statistically.
  FigureCheck(RunFigure figure, std::optional<BaselineFigure> before, std::int64_t most,
              std::int64_t questions);

  [[nodiscard]] const RunFigure& figure() const { return figure_; }
  [[nodiscard]] const std::optional<BaselineFigure>& before() const { return before_; }
  [[nodiscard]] bool is_new() const { return !before_; }
  [[nodiscard]] std::int64_t most() const { return most_; }

  // How many trials it wants to see, of both; none: it has seen enough. Runs that have no trials have 0.
  [[nodiscard]] std::optional<std::int64_t> wanted() const;

  // More values, ours and, where the baseline lacks them, those before.
  void extend(const RunFigure& ours, const RunFigure* before);
  // Looks at what it wanted, if it is there.
  void look();

  [[nodiscard]] const std::optional<SequentialTest>& test() const { return test_; }

 private:
  RunFigure figure_;
  std::optional<BaselineFigure> before_;
  std::int64_t most_;
  std::optional<SequentialTest> test_{};
};

// One run of the suite, as far as it got.
struct RunProgress {
  const SuiteRun* run = nullptr;
  std::string failed{};               // why it has no figures
  RunFigures ours{};                  // of the first trials
  std::optional<RunFigures> other{};  // of the other program, likewise
  std::string other_failed{};         // why that has no figures
  std::int64_t trials = 0;            // that were run
  std::vector<FigureCheck> checks{};  // with all of them
  bool out_of_time = false;
  bool is_stopped = false;  // by a regression, elsewhere or here
};

// Whether the run has shown one by now, without regard to what others show.
[[nodiscard]] bool has_regression(const RunProgress& run);

// How many trials would show that a change as large as this one is one, or that it is within the tolerance: a
// number of a look, estimated from the width of the interval, which shrinks with the root of the trials. None
// if a baseline cannot hold so many. `most`: that there can be now.
[[nodiscard]] std::optional<std::int64_t> trials_needed(const MeanChange& change, const Tolerance& tolerance,
                                                        std::int64_t most);

// All figures of the runs and of the baseline, worst first. `has_other`: more trials than the baseline holds
// could be had.
[[nodiscard]] CheckReport verdicts(const Suite& suite, const Baseline* baseline, bool has_other,
                                   std::span<const RunProgress> runs);

}  // namespace goodput
