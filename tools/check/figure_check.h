// One figure against what it was: asks for the trials it needs, and says what came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/check/sequential_test.h"
#include "tools/check/baseline.h"
#include "tools/check/run_figures.h"

namespace goodput {

class FigureCheck {
 public:
  // `before`: nothing where the figure is new. `most`: pairs of trials there can be; `questions`: figures of
  // the suite that are asked statistically.
  FigureCheck(RunFigure figure, std::optional<BaselineFigure> before, std::int64_t most,
              std::int64_t questions);

  [[nodiscard]] const RunFigure& figure() const { return figure_; }
  [[nodiscard]] const std::optional<BaselineFigure>& before() const { return before_; }
  [[nodiscard]] bool is_new() const { return !before_; }

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

}  // namespace goodput
