#include "sim/cleaning/step_choice.h"

#include <algorithm>

namespace goodput {
namespace {

// Steps of one shape, with damaged ones in between.
struct Run {
  StepShape shape;
  std::size_t first = 0;  // the first and the last whole step
  std::size_t last = 0;
  std::size_t steps = 0;
};

bool is_smaller(const StepShape& a, const StepShape& b, const OpSets& sets) {
  return a.replicas <= b.replicas && sets.at(a.op_set).size() <= sets.at(b.op_set).size() && !(a == b);
}

// Joins the last three runs where the one in the middle is an interlude with less in it.
void join_across_interlude(std::vector<Run>& runs, const OpSets& sets) {
  while (runs.size() >= 3) {
    Run& before = runs[runs.size() - 3];
    const Run& between = runs[runs.size() - 2];
    const Run& after = runs[runs.size() - 1];
    if (!(before.shape == after.shape) || !is_smaller(between.shape, before.shape, sets)) return;
    if (between.steps > std::min(before.steps, after.steps)) return;
    before.last = after.last;
    before.steps += after.steps;
    runs.resize(runs.size() - 2);
  }
}

std::vector<Run> find_runs(const std::vector<StepFacts>& steps, const std::vector<StepState>& states,
                           const OpSets& sets) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (states[i] != StepState::kKept) continue;
    if (!runs.empty() && runs.back().shape == *steps[i].shape) {
      runs.back().last = i;
      ++runs.back().steps;
      continue;
    }
    join_across_interlude(runs, sets);
    runs.push_back({*steps[i].shape, i, i, 1});
  }
  join_across_interlude(runs, sets);
  return runs;
}

std::vector<char> whole_sets(const std::vector<StepFacts>& steps, const OpSets& sets) {
  std::vector<std::size_t> steps_of(sets.size(), 0);
  std::vector<std::size_t> asked_for(sets.size(), 0);
  for (const StepFacts& step : steps) {
    if (!step.shape || step.is_damaged) continue;
    ++steps_of[step.shape->op_set];
    if (step.is_asked_for) ++asked_for[step.shape->op_set];
  }
  return find_whole_sets(sets, steps_of, asked_for);
}

// What is not the run's: of another shape, or, within the run, missing something.
void settle_states(const std::vector<StepFacts>& steps, const std::vector<Run>& runs, std::size_t chosen,
                   StepChoice& choice) {
  const Run& run = runs[chosen];
  const std::size_t from = chosen == 0 ? 0 : runs[chosen - 1].last + 1;
  const std::size_t to = chosen + 1 == runs.size() ? steps.size() : runs[chosen + 1].first;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepState& state = choice.states[i];
    const bool is_within = i >= from && i < to;
    if (state == StepState::kKept && !(is_within && *steps[i].shape == run.shape)) {
      state = is_within ? StepState::kMissing : StepState::kOtherShape;
    }
    if (state == StepState::kKept) ++choice.kept;
    if (is_within && (state == StepState::kMissing || state == StepState::kDamaged)) ++choice.damaged;
  }
}

}  // namespace

StepChoice choose_steps(const std::vector<StepFacts>& steps, const OpSets& sets) {
  StepChoice choice;
  const std::vector<char> whole = whole_sets(steps, sets);
  const auto is_whole = [&](const StepFacts& step) {
    return !step.is_damaged && step.shape && whole[step.shape->op_set] != 0;
  };
  for (const StepFacts& step : steps) {
    choice.states.push_back(!step.is_asked_for ? StepState::kIgnored
                            : step.is_damaged  ? StepState::kDamaged
                            : is_whole(step)   ? StepState::kKept
                                               : StepState::kMissing);
  }
  const std::vector<Run> runs = find_runs(steps, choice.states, sets);
  if (runs.empty()) {
    choice.damaged =
        static_cast<std::size_t>(std::count_if(choice.states.begin(), choice.states.end(),
                                               [](StepState state) { return state != StepState::kIgnored; }));
    return choice;
  }
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].steps >= runs[chosen].steps) chosen = i;
  }
  choice.shape = runs[chosen].shape;
  settle_states(steps, runs, chosen, choice);
  for (std::size_t i = 0; i < steps.size() && !choice.template_step; ++i) {
    if (is_whole(steps[i]) && *steps[i].shape == *choice.shape) choice.template_step = i;
  }
  return choice;
}

}  // namespace goodput
