#include "tools/plan/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "models/planner/contest.h"
#include "models/planner/uncertain_input.h"
#include "models/scenario/paired_comparison.h"
#include "models/scenario/trial_metrics.h"
#include "tools/plan/plan_values.h"

namespace goodput {
namespace {

constexpr int kFactors = 3;                 // break-evens are looked for up to the spread to this power
constexpr std::int64_t kScreenTrials = 16;  // of every rival, far from the input's own value
constexpr std::size_t kMostCandidates = 3;  // rivals whose crossings are searched
constexpr int kMostSteps = 4;               // of that search

double mean(const std::vector<double>& values) {
  return estimate_mean(values).mean;
}

// By how much a rival is worse than the best answer less a tie: negative if it is better by more than a tie.
struct Lead {
  double mean = HUGE_VAL;  // infinite: one of them cannot run, or does not always finish
  double half = 0;         // half of the 95 % interval

  [[nodiscard]] bool is_better() const { return mean < 0; }
};

// Looks at one input at values that are asked for.
class InputProbe {
 public:
  using Trials = std::vector<std::span<const TrialSummary>>;

  InputProbe(const PlanQuestion& question, const UncertainInput& input, const std::vector<Rival>& rivals,
             const Trials& base, const SensitivityOptions& options)
      : question_(question), input_(input), rivals_(rivals), base_(base), options_(options) {}

  // Fails if the question cannot be asked like that.
  Result<Shift> shift(double factor) {
    Shift shift;
    shift.factor = factor;
    shift.value = input_.value * factor;
    GOODPUT_TRY(const auto best, trials(factor, 0, options_.trials));
    const auto values = objective_values(question_.objective, best);
    if (question_.deadline && !best.empty()) shift.p_deadline = deadline_share(best).mean;
    if ((question_.deadline || question_.budget) && !best.empty())
      shift.within_limits = within_limits(question_, best) >= WithinLimits::kPerhaps;
    if (values) {
      const auto now = objective_values(question_.objective,
                                        base_.front().first(static_cast<std::size_t>(options_.trials)));
      const double of_now = mean(*now);
      shift.objective = shown_objective(question_.objective, mean(*values));
      shift.change = (mean(*values) - of_now) / std::abs(of_now);
      if (info(metric_of(question_.objective)).better == Better::kMore) shift.change = -*shift.change;
    }
    double least = 0;
    for (std::size_t rival = 1; rival < rivals_.size(); ++rival) {
      GOODPUT_TRY(const Lead lead, lead_at(factor, rival, options_.trials));
      if (lead.mean >= least) continue;
      least = lead.mean;
      shift.instead = rival;
    }
    return shift;
  }

  // The nearest to the input's own value, in the direction of `spread`.
  Result<std::optional<BreakEven>> break_even(double spread) {
    for (int power = 1; power <= kFactors; ++power) {
      if (power > 1 && factor_of(spread, power) == factor_of(spread, power - 1)) break;
      GOODPUT_TRY(const std::vector<std::size_t> candidates, better_at(factor_of(spread, power)));
      std::optional<BreakEven> nearest;
      for (const std::size_t rival : candidates) {
        GOODPUT_TRY(const std::optional<BreakEven> found, crossing(rival, spread, power));
        if (found && (!nearest || std::abs(std::log(found->factor)) < std::abs(std::log(nearest->factor))))
          nearest = found;
      }
      if (nearest) return nearest;
    }
    return std::optional<BreakEven>{};
  }

 private:
  [[nodiscard]] double factor_of(double spread, int power) const {
    return std::min(std::pow(spread, power), input_.highest);
  }

  Result<std::span<const TrialSummary>> trials(double factor, std::size_t rival, std::int64_t count) {
    if (factor == 1 && input_.is_continuous) return base_[rival].first(static_cast<std::size_t>(count));
    auto known = known_.find(factor);
    if (known == known_.end()) {
      GOODPUT_TRY(PlanQuestion scaled, input_.scaled(question_, factor));
      ContenderRules rules = options_.rules;
      if (input_.changes_steps) rules.shared = std::make_shared<SharedInputs>();
      known = known_.emplace(factor, ScaledRuns(std::move(scaled), rivals_, std::move(rules))).first;
    }
    return known->second.trials(rival, count);
  }

  // A rival that breaks a limit is not better.
  Result<Lead> lead_at(double factor, std::size_t rival, std::int64_t count) {
    GOODPUT_TRY(const auto of_rival, trials(factor, rival, count));
    if (of_rival.empty() || within_limits(question_, of_rival) < WithinLimits::kPerhaps) return Lead{};
    const auto values = objective_values(question_.objective, of_rival);
    if (!values) return Lead{};
    GOODPUT_TRY(const auto of_best, trials(factor, 0, count));
    auto least = objective_values(question_.objective, of_best);
    if (!least) return Lead{-HUGE_VAL, 0};
    for (double& value : *least) value -= options_.tie * std::abs(value);
    const Estimate difference = compare_paired(*values, *least).difference;
    const double half = difference.interval ? (*difference.interval)[1] - difference.mean : 0;
    return Lead{difference.mean, half};
  }

  // Rivals that are better there, those that lead most first. Few trials tell who may be.
  Result<std::vector<std::size_t>> better_at(double factor) {
    struct Candidate {
      double lead;
      std::size_t rival;
    };
    std::vector<Candidate> some;
    for (std::size_t rival = 1; rival < rivals_.size(); ++rival) {
      GOODPUT_TRY(const Lead lead, lead_at(factor, rival, kScreenTrials));
      if (lead.is_better()) some.push_back({lead.mean, rival});
    }
    std::stable_sort(some.begin(), some.end(),
                     [](const Candidate& a, const Candidate& b) { return a.lead < b.lead; });
    some.resize(std::min(some.size(), kMostCandidates));
    std::vector<std::size_t> better;
    for (const Candidate& one : some) {
      GOODPUT_TRY(const Lead lead, lead_at(factor, one.rival, options_.trials));
      if (lead.is_better()) better.push_back(one.rival);
    }
    return better;
  }

  // Where the rival's lead changes its sign, up to the spread to that power. None if it is better already at
  // the input's own value. REQUIRES: it is better at that power.
  Result<std::optional<BreakEven>> crossing(std::size_t rival, double spread, int power) {
    struct Point {
      double log = 0;
      Lead lead{};
    };
    const auto point = [&](int at) -> Result<Point> {
      const double factor = factor_of(spread, at);
      GOODPUT_TRY(const Lead lead, lead_at(factor, rival, options_.trials));
      return Point{std::log(factor), lead};
    };
    GOODPUT_TRY(Point better, point(power));
    GOODPUT_TRY(Point worse, point(power - 1));
    while (worse.lead.is_better()) {
      if (--power == 0) return std::optional<BreakEven>{};
      better = worse;
      GOODPUT_TRY(worse, point(power - 1));
    }
    // How far along the way from `worse` to `better` a straight line is 0.
    const auto share = [&] {
      const double way = worse.lead.mean - better.lead.mean;
      return std::isfinite(way) ? worse.lead.mean / way : 0.5;
    };
    Point last = better;
    for (int step = 0; step < kMostSteps; ++step) {
      const double log = std::lerp(worse.log, better.log, std::clamp(share(), 0.1, 0.9));
      GOODPUT_TRY(const Lead lead, lead_at(std::exp(log), rival, options_.trials));
      last = {log, lead};
      (lead.is_better() ? better : worse) = last;
      if (std::abs(lead.mean) < lead.half / 4) break;
    }
    const double log = std::lerp(worse.log, better.log, share());
    const double slope = (better.lead.mean - worse.lead.mean) / (better.log - worse.log);
    std::array<double, 2> logs = {std::min(worse.log, better.log), std::max(worse.log, better.log)};
    if (std::isfinite(slope)) {
      const double half = last.lead.half / std::abs(slope);
      logs = {log - half, log + half};
    }
    return std::optional(BreakEven{std::exp(log),
                                   input_.value * std::exp(log),
                                   {input_.value * std::exp(logs[0]), input_.value * std::exp(logs[1])},
                                   rival});
  }

  const PlanQuestion& question_;
  const UncertainInput& input_;
  const std::vector<Rival>& rivals_;
  const Trials& base_;
  const SensitivityOptions& options_;
  std::map<double, ScaledRuns> known_{};  // by factor
};

Result<InputSensitivity> look_at(const UncertainInput& input, InputProbe probe) {
  InputSensitivity found{input.name, input.unit, input.tier, input.value, {}, {}};
  if (!input.is_continuous) {
    GOODPUT_TRY(const Shift other, probe.shift(input.most));
    found.shifts.push_back(other);
    return found;
  }
  for (const double factor : {input.least, input.most}) {
    GOODPUT_TRY(const Shift shift, probe.shift(factor));
    found.shifts.push_back(shift);
  }
  for (const double spread : {input.least, input.most}) {
    if (spread == 1) continue;
    GOODPUT_TRY(const std::optional<BreakEven> even, probe.break_even(spread));
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
                                   const std::vector<std::span<const TrialSummary>>& trials,
                                   const SensitivityOptions& options) {
  Sensitivity sensitivity;
  sensitivity.rivals = rivals;
  sensitivity.trials = options.trials;
  const auto now =
      objective_values(question.objective, trials.front().first(static_cast<std::size_t>(options.trials)));
  if (!now) return sensitivity;
  sensitivity.objective = shown_objective(question.objective, mean(*now));
  std::set<StepFamily> families;
  for (const Rival& rival : rivals) families.insert(family_of(question.plan, rival.choice.parallel));
  const std::vector<StepFamily> compared(families.begin(), families.end());
  const bool holds_spot = std::any_of(rivals.begin(), rivals.end(),
                                      [](const Rival& rival) { return rival.choice.spot_nodes > 0; });
  const std::vector<UncertainInput> inputs = uncertain_inputs(question, compared, holds_spot);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const UncertainInput& input = inputs[i];
    if (options.is_out_of_time && options.is_out_of_time()) {
      sensitivity.left_out.push_back(input.name);
      continue;
    }
    if (options.on_input) options.on_input(input.name, i + 1, inputs.size());
    auto found = look_at(input, InputProbe(question, input, rivals, trials, options));
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
