#include "tools/plan/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "models/planner/contest.h"
#include "models/planner/uncertain_input.h"
#include "models/scenario/paired_comparison.h"
#include "tools/plan/contenders.h"
#include "tools/plan/plan_values.h"

namespace goodput {
namespace {

constexpr int kFactors = 3;     // beyond which nobody looks for another answer: the spread to this power
constexpr int kBisections = 4;  // of the logarithm, between two of them

// What the answers come to at some value of an input; by rival, none of those that cannot run or finish.
struct RivalValues {
  std::vector<std::optional<std::vector<double>>> values{};
  std::optional<double> p_deadline{};  // of the best answer
};

class RivalRuns {
 public:
  RivalRuns(const std::vector<Rival>& rivals, const SensitivityOptions& options)
      : rivals_(rivals), options_(options) {}

  [[nodiscard]] Result<RivalValues> run(const PlanQuestion& question) const {
    GOODPUT_TRY(const std::vector<ScenarioPolicy> policies, competing_policies(question));
    std::vector<Entry> entries;
    for (const Rival& rival : rivals_) {
      const auto policy = std::find_if(policies.begin(), policies.end(),
                                       [&](const ScenarioPolicy& one) { return one.name == rival.policy; });
      GOODPUT_CHECK(policy != policies.end(), "a rival's policy is not the question's");
      entries.push_back({rival.choice, {*policy}, {rival.interval}});
    }
    GOODPUT_TRY(Contenders contenders,
                Contenders::make(question, entries, {options_.seed, options_.jobs, options_.most}));
    std::vector<std::size_t> all(contenders.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    GOODPUT_TRY_STATUS(contenders.run(all, options_.trials));
    RivalValues found;
    found.values.resize(rivals_.size());
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const std::size_t rival = contenders[i].entry;
      found.values[rival] = objective_values(question.objective, contenders.trials(i));
      if (rival == 0 && question.deadline) found.p_deadline = deadline_share(contenders.trials(i)).mean;
    }
    return found;
  }

 private:
  const std::vector<Rival>& rivals_;
  const SensitivityOptions& options_;
};

double mean(const std::vector<double>& values) {
  return estimate_mean(values).mean;
}

// The best of the rivals that do better than the best answer by more than a tie.
std::optional<std::size_t> better_rival(const RivalValues& found, double tie) {
  std::optional<std::size_t> better;
  for (std::size_t i = 1; i < found.values.size(); ++i) {
    const auto& rival = found.values[i];
    if (!rival) continue;
    const auto& best = found.values.front();
    const bool beats = !best || (mean(*rival) < mean(*best) && !is_tie(*best, *rival, tie));
    if (beats && (!better || mean(*rival) < mean(*found.values[*better]))) better = i;
  }
  return better;
}

// Looks at one input at values that are asked for.
class InputProbe {
 public:
  InputProbe(const PlanQuestion& question, const UncertainInput& input, const RivalRuns& runs,
             double objective, double tie)
      : question_(question), input_(input), runs_(runs), objective_(objective), tie_(tie) {}

  // Fails where the question cannot be asked like that.
  Result<Shift> at(double factor) {
    if (const auto known = known_.find(factor); known != known_.end()) return known->second;
    GOODPUT_TRY(const PlanQuestion scaled, input_.scaled(question_, factor));
    GOODPUT_TRY(const RivalValues found, runs_.run(scaled));
    Shift shift;
    shift.factor = factor;
    shift.value = input_.value * factor;
    shift.p_deadline = found.p_deadline;
    if (found.values.front()) {
      const double value = mean(*found.values.front());
      shift.objective = shown_objective(question_.objective, value);
      shift.change = (value - objective_) / std::abs(objective_);
      if (info(metric_of(question_.objective)).better == Better::kMore) shift.change = -*shift.change;
    }
    shift.instead = better_rival(found, tie_);
    return known_.emplace(factor, shift).first->second;
  }

  // The value nearest to the input's own at which another answer is better, in the direction of `spread`.
  Result<std::optional<Shift>> break_even(double spread) {
    double near = 1;
    for (int power = 1; power <= kFactors; ++power) {
      double far = std::pow(spread, power);
      GOODPUT_TRY(Shift shift, at(far));
      if (!shift.instead) {
        near = far;
        continue;
      }
      for (int i = 0; i < kBisections; ++i) {
        const double middle = std::sqrt(near * far);
        GOODPUT_TRY(Shift there, at(middle));
        if (there.instead) {
          far = middle;
          shift = there;
        } else {
          near = middle;
        }
      }
      return std::optional(shift);
    }
    return std::optional<Shift>{};
  }

 private:
  const PlanQuestion& question_;
  const UncertainInput& input_;
  const RivalRuns& runs_;
  double objective_;
  double tie_;
  std::map<double, Shift> known_{};
};

Result<InputSensitivity> look_at(const UncertainInput& input, InputProbe probe) {
  InputSensitivity found{input.name, input.unit, input.tier, input.value, {}, {}};
  if (!input.is_continuous) {
    GOODPUT_TRY(const Shift other, probe.at(input.most));
    found.shifts.push_back(other);
    return found;
  }
  for (const double factor : {input.least, input.most}) {
    GOODPUT_TRY(const Shift shift, probe.at(factor));
    found.shifts.push_back(shift);
  }
  for (const double spread : {input.least, input.most}) {
    GOODPUT_TRY(const std::optional<Shift> even, probe.break_even(spread));
    if (even) found.break_evens.push_back(*even);
  }
  return found;
}

double largest_change(const InputSensitivity& input) {
  double largest = 0;
  for (const Shift& shift : input.shifts)
    largest = std::max(largest, shift.change ? std::abs(*shift.change) : HUGE_VAL);
  return largest;
}

}  // namespace

Result<Sensitivity> sensitivity_of(const PlanQuestion& question, const std::vector<Rival>& rivals,
                                   const SensitivityOptions& options) {
  const RivalRuns runs(rivals, options);
  GOODPUT_TRY(const RivalValues base, runs.run(question));
  Sensitivity sensitivity;
  sensitivity.rivals = rivals;
  sensitivity.trials = options.trials;
  if (!base.values.front()) return sensitivity;
  const double objective = mean(*base.values.front());
  sensitivity.objective = shown_objective(question.objective, objective);
  std::set<StepFamily> families;
  for (const Rival& rival : rivals) families.insert(family_of(question.plan, rival.choice.parallel));
  const std::vector<StepFamily> compared(families.begin(), families.end());
  for (const UncertainInput& input : uncertain_inputs(question, compared)) {
    auto found = look_at(input, InputProbe(question, input, runs, objective, options.tie));
    if (!found && !input.is_continuous) continue;  // a cost model that cannot price the plan
    GOODPUT_TRY(InputSensitivity known, std::move(found));
    sensitivity.inputs.push_back(std::move(known));
  }
  std::stable_sort(sensitivity.inputs.begin(), sensitivity.inputs.end(),
                   [](const InputSensitivity& a, const InputSensitivity& b) {
                     if (a.tier != b.tier) return lowest(a.tier, b.tier) == a.tier;
                     return largest_change(a) > largest_change(b);
                   });
  return sensitivity;
}

}  // namespace goodput
