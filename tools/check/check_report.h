// What a check found: as text for people, as JSON, JUnit and Markdown for programs and reviews.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/check/sequential_test.h"
#include "sim/base/json_fwd.h"
#include "tools/check/baseline.h"
#include "tools/check/run_figures.h"
#include "tools/check/speed.h"
#include "tools/check/suite.h"
#include "tools/cli/command.h"

namespace goodput {

// Worst first.
enum class Outcome : std::uint8_t { kFailed, kWorse, kChanged, kUndecided, kBetter, kGone, kNew, kSame };
inline constexpr std::string_view kOutcomeNames[] = {"failed", "worse", "changed", "undecided",
                                                     "better", "gone",  "new",     "same"};
[[nodiscard]] constexpr bool is_regression(Outcome outcome) {
  return outcome == Outcome::kFailed || outcome == Outcome::kWorse || outcome == Outcome::kChanged;
}
inline constexpr std::size_t kOutcomes = std::size(kOutcomeNames);

// Why a figure is new, where no more is known.
inline constexpr std::string_view kNotInBaseline = "not in the baseline";

// Why a figure is undecided, and what would decide it.
struct OpenQuestion {
  enum class Cause : std::uint8_t {
    kOutOfTime,
    kBaselineEnds,  // it holds no more trials
    kAllTrials,     // of two programs, that a check runs at most
    kStopped,       // by a regression elsewhere
    kNoTrials,
  };
  Cause cause = Cause::kOutOfTime;
  std::int64_t trials = 0;               // that were looked at
  std::int64_t most = 0;                 // that there can be
  std::optional<std::int64_t> needed{};  // estimated; none: nothing is known, or more than can be run
};

struct CheckedFigure {
  std::string name{};
  std::string run{};
  std::string policy{};
  MetricRule rule{};  // of one that is gone: only the name
  Outcome outcome = Outcome::kSame;
  std::optional<double> baseline{},
      figure{};                    // the means over the trials that were looked at; none of others
  std::optional<double> change{};  // of the baseline where is_relative, else in the figure's unit
  bool is_relative = false;
  std::optional<MeanChange> test{};  // of a statistical one
  std::int64_t looks = 0;
  std::optional<double> p_value{};     // adjusted for all figures of the suite
  std::string reason{};                // why it failed, or why nothing was decided
  std::optional<OpenQuestion> open{};  // of one that is undecided
  std::vector<std::string> why{};      // it moved, as far as the results know: a line each
};

struct CheckReport {
  const Suite& suite;
  std::string baseline_file{};           // empty: there is none
  std::vector<std::string> notes{};      // what to know of the baseline
  std::vector<CheckedFigure> figures{};  // worst first, then by name
  std::vector<SpeedResult> speeds{};     // of --time
  bool is_strict = false;
  double budget_s = 60;  // that the check had

  [[nodiscard]] std::size_t count(Outcome outcome) const;
  [[nodiscard]] bool has_regression() const;
  // "regression", also of what is open where it is strict; "undecided", "ok"
  [[nodiscard]] std::string_view verdict() const;
};

// kRegression, also where it is strict and something is undecided, new or gone.
[[nodiscard]] ExitCode exit_code(const CheckReport& report);

[[nodiscard]] std::string check_text(const CheckReport& report);
void add_check_json(const CheckReport& report, OrderedJson& json);
[[nodiscard]] std::string check_junit(const CheckReport& report);
[[nodiscard]] std::string check_markdown(const CheckReport& report);

// For all of them: "+1.2 %", "-3.4 s"; "+0.8 to +1.6 %".
[[nodiscard]] std::string change_text(const CheckedFigure& figure);
[[nodiscard]] std::string interval_text(const CheckedFigure& figure);
[[nodiscard]] std::string figure_text(std::optional<double> figure);

}  // namespace goodput
