// What the answer to a plan's question rests on: how far it moves with each input that is not certain, and
// from which value on another answer is better.
//
// Each value is looked at with the same failures as the answer, and with checkpoints as often as is optimal
// there.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "models/planner/question_scenario.h"
#include "models/scenario/trial_summary.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"
#include "tools/plan/scaled_runs.h"

namespace goodput {

// With an input at another value.
struct Shift {
  double factor = 1;  // of the input
  double value = 0;
  std::optional<double> objective{};     // of the best answer; none: it does not finish, or cannot run
  std::optional<double> change{};        // of that, relative
  std::optional<double> p_deadline{};    // of the best answer, if there is a deadline
  std::optional<bool> within_limits{};   // whether the best answer keeps to them; none: there are none
  std::optional<std::size_t> instead{};  // the best rival that is better there, by more than a tie
};

// From here on, away from the input's own value, a rival is better by more than a tie.
struct BreakEven {
  double factor = 1;
  double value = 0;
  std::array<double, 2> interval{};  // 95 % confidence, of the value, from paired trials
  std::size_t instead = 0;
};

struct InputSensitivity {
  std::string input{};  // a key of the question, or "cost_model"
  std::string unit{};   // of `value`
  Tier tier = Tier::kAssumed;
  double value = 0;
  std::vector<Shift> shifts{};           // the range that its tier leaves open: low, high
  std::vector<BreakEven> break_evens{};  // the nearest on either side
};

struct Sensitivity {
  double objective = 0;  // of the best answer, by as many trials
  std::vector<Rival> rivals{};
  std::vector<InputSensitivity> inputs{};  // the lowest tier first, then by how far they move the objective
  std::vector<std::string> left_out{};     // inputs for which there was no time
  std::int64_t trials = 0;
};

struct SensitivityOptions {
  ContenderRules rules{};
  std::int64_t trials = 96;  // of each answer at each value
  double tie = 0.005;
  std::function<bool()> is_out_of_time{};  // asked before each input; empty: never
  std::function<void(const std::string& input, std::size_t number, std::size_t inputs)> on_input{};
};

// `rivals`: the best answer first; `trials`: those of each under the question as it is, options.trials or
// more.
Result<Sensitivity> sensitivity_of(const PlanQuestion& question, const std::vector<Rival>& rivals,
                                   const std::vector<std::span<const TrialSummary>>& trials,
                                   const SensitivityOptions& options);

}  // namespace goodput
