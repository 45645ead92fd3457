// What the answer to a plan's question rests on: how far it moves with each input that is not certain, and
// from where on another answer is better.
//
// Every value is looked at with the same failures as the answer, and with checkpoints as often as is optimal
// there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "models/planner/question_scenario.h"
#include "sim/base/errors.h"
#include "sim/base/tier.h"

namespace goodput {

// An answer that competes with the best one.
struct Rival {
  PlannedNodes choice{};
  std::string policy{};  // as the question calls it
  double interval = 1;   // between checkpoints, against the optimal one
};

// With an input at another value.
struct Shift {
  double factor = 1;  // of the input
  double value = 0;
  std::optional<double> objective{};     // of the best answer; none: it does not finish, or cannot run
  std::optional<double> change{};        // of that, relative
  std::optional<double> p_deadline{};    // of the best answer, where there is a deadline
  std::optional<std::size_t> instead{};  // a rival that is better there, by more than a tie
};

struct InputSensitivity {
  std::string input{};  // a key of the question, or "cost_model"
  std::string unit{};   // of `value`
  Tier tier = Tier::kAssumed;
  double value = 0;
  std::vector<Shift> shifts{};       // the range that its tier leaves open: low, high
  std::vector<Shift> break_evens{};  // the nearest value on either side at which a rival is better
};

struct Sensitivity {
  double objective = 0;  // of the best answer, with as few trials
  std::vector<Rival> rivals{};
  std::vector<InputSensitivity> inputs{};  // the lowest tier first, then by how far they move the objective
  std::int64_t trials = 0;
};

struct SensitivityOptions {
  std::uint64_t seed = 0;
  unsigned jobs = 1;
  std::int64_t trials = 96;
  double tie = 0.005;
  SimDuration most{};
};

// `rivals`: the best answer first.
Result<Sensitivity> sensitivity_of(const PlanQuestion& question, const std::vector<Rival>& rivals,
                                   const SensitivityOptions& options);

}  // namespace goodput
