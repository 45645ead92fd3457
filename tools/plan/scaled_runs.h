// Trials of some answers to a plan's question under another value of one input, run as they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/planner/plan_question.h"
#include "models/planner/question_scenario.h"
#include "models/scenario/trial_summary.h"
#include "sim/base/errors.h"
#include "tools/plan/contenders.h"

namespace goodput {

// An answer that competes with the best one.
struct Rival {
  PlannedNodes choice{};
  std::string policy{};  // as the question calls it
  double interval = 1;   // between checkpoints, against the optimal one
};

class ScaledRuns {
 public:
  // Keeps a reference to `rivals`.
  ScaledRuns(PlanQuestion question, const std::vector<Rival>& rivals, ContenderRules rules)
      : question_(std::move(question)), rivals_(&rivals), rules_(std::move(rules)), made_(rivals.size()) {}

  [[nodiscard]] const PlanQuestion& question() const { return question_; }

  // The first `count` trials of the rival: checkpoints are as far apart, against the interval that is optimal
  // here. Empty if it cannot run.
  Result<std::span<const TrialSummary>> trials(std::size_t rival, std::int64_t count);

 private:
  PlanQuestion question_;
  const std::vector<Rival>* rivals_;
  ContenderRules rules_;
  std::vector<std::unique_ptr<Contenders>> made_;  // one contender each, or none
};

}  // namespace goodput
