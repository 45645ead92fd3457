#include "tools/plan/prediction_error.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "sim/base/json.h"

namespace goodput {
namespace {

auto layout_of(const ParallelPlan& plan) {
  return std::tuple{plan.dp, plan.tp, plan.pp, plan.cp, plan.ep, plan.expert_tp(), plan.zero};
}

std::string text_of(ParallelPlan plan) {
  return config::write(config_fields(plan)).dump();
}

}  // namespace

RangedStep ranged_step(const TrainingPlan& plan, const RankedPlan& ranked) {
  const StepRange range = range_for(plan.stack, family_of(plan, ranked.parallel));
  const double seconds = to_seconds(ranked.step);
  return {seconds, seconds * range.low, seconds * range.high, range};
}

std::optional<RankedPlan> layout_found(const ParallelPlan& parallel, std::span<const RankedPlan> found) {
  const std::string text = text_of(parallel);
  const auto same =
      std::ranges::find_if(found, [&](const RankedPlan& ranked) { return text_of(ranked.parallel) == text; });
  return same == found.end() ? std::nullopt : std::optional(*same);
}

std::vector<RankedPlan> layouts_within_error(const TrainingPlan& plan, const ParallelPlan& best,
                                             std::span<const RankedPlan> found) {
  const std::optional<RankedPlan> same = layout_found(best, found);
  if (!same) return {};
  const RangedStep of_best = ranged_step(plan, *same);
  std::vector<RankedPlan> sorted(found.begin(), found.end());
  std::ranges::stable_sort(sorted, {}, &RankedPlan::step);
  std::set<decltype(layout_of(best))> seen = {layout_of(best)};
  std::vector<RankedPlan> within;
  for (RankedPlan& ranked : sorted) {
    const RangedStep step = ranged_step(plan, ranked);
    if (step.low_s > of_best.high_s || step.high_s < of_best.low_s) continue;
    if (seen.insert(layout_of(ranked.parallel)).second) within.push_back(std::move(ranked));
  }
  return within;
}

}  // namespace goodput
