#include "tools/plan/sensitivity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
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

// What a rival has to be to be better: better than the best answer by more than a tie, and within the limits.
enum class Criterion : std::uint8_t { kObjective, kDeadline, kBudget };
constexpr std::array kCriteria = {Criterion::kObjective, Criterion::kDeadline, Criterion::kBudget};

// By how much a rival falls short of a criterion, in the unit of that: negative if it meets it.
struct Shortfall {
  double mean = HUGE_VAL;  // infinite: it cannot run, or does not always finish
  double half = 0;         // half of the 95 % interval

  [[nodiscard]] bool is_met() const { return mean < 0; }
  // Whether these trials tell it from 0.
  [[nodiscard]] bool is_sure() const { return std::abs(mean) > half; }
};

// How much less likely an event is than required, by its share of trials.
Shortfall shortfall_of(const Estimate& share, double required) {
  const auto [low, high] = *share.interval;
  // A share that is just the required one is enough.
  return {required - share.mean - 1e-12, (high - low) / 2};
}

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
      GOODPUT_TRY(const bool is_better, is_better_at(factor, rival, options_.trials));
      if (!is_better) continue;
      GOODPUT_TRY(const Shortfall short_of, shortfall(Criterion::kObjective, factor, rival, options_.trials));
      if (short_of.mean >= least) continue;
      least = short_of.mean;
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
      known = known_.emplace(factor, ScaledRuns(std::move(scaled), rivals_, options_.rules)).first;
    }
    return known->second.trials(rival, count);
  }

  Result<Shortfall> shortfall(Criterion criterion, double factor, std::size_t rival, std::int64_t count) {
    GOODPUT_TRY(const auto of_rival, trials(factor, rival, count));
    const auto values = objective_values(question_.objective, of_rival);
    if (!values) return Shortfall{};
    switch (criterion) {
      case Criterion::kObjective:
        return objective_shortfall(*values, factor);
      case Criterion::kDeadline:
        if (!question_.deadline) return Shortfall{-HUGE_VAL, 0};
        return shortfall_of(deadline_share(of_rival), question_.deadline->probability);
      case Criterion::kBudget:
        break;
    }
    if (!question_.budget) return Shortfall{-HUGE_VAL, 0};
    const Budget& budget = *question_.budget;
    if (budget.probability > 0) return shortfall_of(budget_share(of_rival, budget.value), budget.probability);
    const Estimate cost = estimate_of(TrialMetric::kCost, of_rival).value();
    return Shortfall{cost.mean - budget.value, cost.interval ? (*cost.interval)[1] - cost.mean : 0};
  }

  // Paired with the best answer's trials.
  Result<Shortfall> objective_shortfall(const std::vector<double>& values, double factor) {
    GOODPUT_TRY(const auto of_best, trials(factor, 0, std::ssize(values)));
    auto wanted = objective_values(question_.objective, of_best);
    if (!wanted) return Shortfall{-HUGE_VAL, 0};
    for (double& value : *wanted) value -= options_.tie * std::abs(value);
    const Estimate difference = compare_paired(values, *wanted).difference;
    const double half = difference.interval ? (*difference.interval)[1] - difference.mean : 0;
    return Shortfall{difference.mean, half};
  }

  Result<bool> is_better_at(double factor, std::size_t rival, std::int64_t count) {
    for (const Criterion criterion : kCriteria) {
      GOODPUT_TRY(const Shortfall short_of, shortfall(criterion, factor, rival, count));
      if (!short_of.is_met()) return false;
    }
    return true;
  }

  // Rivals that are better there, those that lead most first. Few trials tell which may be.
  Result<std::vector<std::size_t>> better_at(double factor) {
    struct Candidate {
      double shortfall;
      std::size_t rival;
    };
    std::vector<Candidate> some;
    for (std::size_t rival = 1; rival < rivals_.size(); ++rival) {
      const std::int64_t few = std::min(kScreenTrials, options_.trials);
      GOODPUT_TRY(const Shortfall short_of, shortfall(Criterion::kObjective, factor, rival, few));
      if (short_of.is_met()) some.push_back({short_of.mean, rival});
    }
    std::stable_sort(some.begin(), some.end(),
                     [](const Candidate& a, const Candidate& b) { return a.shortfall < b.shortfall; });
    std::vector<std::size_t> better;
    for (const Candidate& one : some) {
      if (better.size() == kMostCandidates) break;
      GOODPUT_TRY(const bool is_better, is_better_at(factor, one.rival, options_.trials));
      if (!is_better) continue;
      GOODPUT_TRY(const Shortfall lead, shortfall(Criterion::kObjective, factor, one.rival, options_.trials));
      if (lead.is_sure()) better.push_back(one.rival);
    }
    return better;
  }

  // From where on the rival is better, up to the spread to that power: where it meets the last of the
  // criteria. None if it meets all of them at the input's own value. REQUIRES: it is better at that power.
  Result<std::optional<BreakEven>> crossing(std::size_t rival, double spread, int power) {
    std::optional<BreakEven> farthest;
    for (const Criterion criterion : kCriteria) {
      GOODPUT_TRY(const std::optional<BreakEven> found, crossing_of(criterion, rival, spread, power));
      if (found && (!farthest || std::abs(std::log(found->factor)) > std::abs(std::log(farthest->factor))))
        farthest = found;
    }
    return farthest;
  }

  // Where the shortfall changes its sign.
  Result<std::optional<BreakEven>> crossing_of(Criterion criterion, std::size_t rival, double spread,
                                               int power) {
    struct Point {
      double log = 0;
      Shortfall shortfall{};
    };
    const auto point_at = [&](double factor) -> Result<Point> {
      GOODPUT_TRY(const Shortfall short_of, shortfall(criterion, factor, rival, options_.trials));
      return Point{std::log(factor), short_of};
    };
    // The nearest value at which the criterion is surely missed, seen from here.
    const auto surely_missed = [&](int from) -> Result<double> {
      while (from > 0) {
        GOODPUT_TRY(const Point point, point_at(factor_of(spread, from)));
        if (point.shortfall.is_sure()) return point.log;
        --from;
      }
      return 0.0;  // the input's own value
    };
    GOODPUT_TRY(Point met, point_at(factor_of(spread, power)));
    GOODPUT_TRY(Point missed, point_at(factor_of(spread, power - 1)));
    while (missed.shortfall.is_met()) {
      if (--power == 0) return std::optional<BreakEven>{};
      met = missed;
      GOODPUT_TRY(missed, point_at(factor_of(spread, power - 1)));
    }
    // How far along the way from one to the other a straight line is 0.
    const auto share = [&] {
      const double way = missed.shortfall.mean - met.shortfall.mean;
      return std::isfinite(way) ? missed.shortfall.mean / way : 0.5;
    };
    const bool is_flat = !missed.shortfall.is_sure();
    const double near = missed.log;
    Point last = met;
    for (int step = 0; step < kMostSteps; ++step) {
      const double log = std::lerp(missed.log, met.log, std::clamp(share(), 0.1, 0.9));
      GOODPUT_TRY(last, point_at(std::exp(log)));
      (last.shortfall.is_met() ? met : missed) = last;
      if (std::abs(last.shortfall.mean) < last.shortfall.half / 4) break;
    }
    const double log = std::lerp(missed.log, met.log, share());
    const double slope = (met.shortfall.mean - missed.shortfall.mean) / (met.log - missed.log);
    std::array<double, 2> logs = {std::min(missed.log, met.log), std::max(missed.log, met.log)};
    if (std::isfinite(slope)) {
      const double half = last.shortfall.half / std::abs(slope);
      logs = {log - half, log + half};
    }
    // A curve that is close to 0 over a wide range crosses it anywhere there.
    if (is_flat && near != 0) {
      GOODPUT_TRY(const double from, surely_missed(power - 1));
      logs = {std::min(logs[0], from), std::max(logs[1], from)};
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
  ComparedAnswers compared;
  for (const Rival& rival : rivals) {
    compared.families.insert(family_of(question.plan, rival.choice.parallel));
    compared.policies.insert(rival.policy);
    compared.hold_spot = compared.hold_spot || rival.choice.spot_nodes > 0;
  }
  const std::vector<UncertainInput> inputs = uncertain_inputs(question, compared);
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
