// What a suite's figures were: FILE.json, a line a run and a line a figure, for people to review, and beside
// it FILE.trials.csv, a line a figure with its value in every trial (docs/formats/suites.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "tools/check/run_figures.h"

namespace goodput {

struct BaselineRun {
  RunOrigin origin{};
  std::map<std::string, Parts> parts{};  // by policy

  friend bool operator==(const BaselineRun&, const BaselineRun&) = default;
};

struct BaselineFigure {
  std::optional<double> value{};  // the mean, of a figure of trials
  std::string text{};             // JSON of what is no number
  std::vector<double> trials{};   // of a figure of trials

  friend bool operator==(const BaselineFigure&, const BaselineFigure&) = default;
};

// REQUIRES: a value or a text. Of a figure without a fault.
[[nodiscard]] BaselineFigure baseline_figure(const RunFigure& figure);

struct Baseline {
  std::string suite{};
  std::uint64_t seed = 0;
  std::map<std::string, BaselineRun> runs{};
  std::map<std::string, BaselineFigure> figures{};
};

// "smoke.trials.csv" of "smoke.json".
[[nodiscard]] std::string trials_path(const std::string& baseline_path);

// Fails on files that are no baseline, or of another layout, or do not belong together.
[[nodiscard]] Result<Baseline> read_baseline(const std::string& path);

// The same values give the same bytes.
[[nodiscard]] std::string baseline_json(const Baseline& baseline);
[[nodiscard]] std::string baseline_trials_csv(const Baseline& baseline);

// One line of baseline_json(), without its end: for differences that people read.
[[nodiscard]] std::string figure_line(const std::string& name, const BaselineFigure& figure);

}  // namespace goodput
