#include "tools/calibration/plan_gaps.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "models/cost/calibrated.h"
#include "models/step/granularity.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/parallel.h"

namespace goodput {
namespace {

Result<SimDuration> step_priced_by(const CostModel& cost, const TrainingPlan& plan, std::uint64_t seed) {
  GOODPUT_TRY(const PlannedStep step, build_planned_step(plan, cost, Granularity::kLayers, seed));
  return step_time(step);
}

// What each of `sets` of work takes of the step, in their order.
Result<std::vector<double>> shares_of(
    const std::vector<std::set<AskedWork>>& sets, SimDuration whole,
    const std::function<Result<SimDuration>(const std::set<AskedWork>&)>& without, unsigned jobs) {
  std::vector<std::optional<Result<SimDuration>>> times(sets.size());
  parallel_pieces(jobs, sets.size(), 1,
                  [&](std::size_t index, std::size_t) { times[index] = without(sets[index]); });
  std::vector<double> shares;
  for (const auto& time : times) {
    if (!*time) return time->error();
    shares.push_back(whole > **time ? 1 - to_seconds(**time) / to_seconds(whole) : 0.0);
  }
  return shares;
}

}  // namespace

Result<PlanGaps> find_plan_gaps(const TrainingPlan& plan, const Calibration& calibration, std::uint64_t seed,
                                unsigned jobs) {
  GOODPUT_TRY_STATUS(check_machine(calibration, plan.cluster));
  TrainingPlan settled_plan = plan;
  settled_plan.parallel = settled(plan.parallel, plan.cluster.gpus_per_node);
  GOODPUT_TRY_STATUS(check_training_plan(settled_plan));
  const CalibratedCost cost(plan.cluster, plan.roofline, calibration);
  AskedStep asked;
  PlanGaps found;
  GOODPUT_TRY(found.step, step_priced_by(AskedCost(cost, asked), settled_plan, seed));
  asked.sort_products(cost);
  std::vector<std::set<AskedWork>> sets(1);  // all of them, then each
  for (const auto& [work, sizes] : asked.works()) {
    if (work.coverage == TableCoverage::kMeasured) continue;
    found.gaps.push_back({work, sizes});
    sets.front().insert(work);
    sets.push_back({work});
  }
  const auto without = [&](const std::set<AskedWork>& free) -> Result<SimDuration> {
    if (free.size() == asked.works().size()) return SimDuration{};  // no step is built of nothing
    return step_priced_by(CostWithout(cost, asked, free), settled_plan, seed);
  };
  GOODPUT_TRY(const std::vector<double> shares, shares_of(sets, found.step, without, jobs));
  found.share = shares.front();
  for (std::size_t gap = 0; gap < found.gaps.size(); ++gap) found.gaps[gap].share = shares[gap + 1];
  std::stable_sort(found.gaps.begin(), found.gaps.end(),
                   [](const PlanGap& a, const PlanGap& b) { return a.share > b.share; });
  return found;
}

}  // namespace goodput
