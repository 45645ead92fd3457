#include "tools/calibration/plan_gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "models/step/granularity.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"

namespace goodput {
namespace {

AskedWork work_of(const Kernel& kernel, const CalibratedCost& cost) {
  AskedWork work;
  work.coverage = cost.coverage(kernel);
  work.precision = kernel.precision;
  switch (kernel.kind) {
    case Kernel::Kind::kGemm:
      work.kind = AskedWork::Kind::kGemm;
      work.n = kernel.n;
      work.k = kernel.k;
      work.batch = kernel.batch;
      return work;
    case Kernel::Kind::kAttention:
      work.kind = AskedWork::Kind::kAttention;
      return work;
    case Kernel::Kind::kMemory:
      work.precision = Precision::kBf16;
      return work;
  }
  GOODPUT_CHECK(false, "no such kind of kernel");
}

AskedWork work_of(const CollectiveCall& call, const CalibratedCost& cost) {
  return {.kind = AskedWork::Kind::kCollective,
          .collective = call.kind,
          .ranks = call.group.size,
          .per_node = call.group.per_node,
          .coverage = cost.coverage(call)};
}

struct AskedSizes {
  double least = 0, most = 0;

  void add(double size) {
    least = most == 0 ? size : std::min(least, size);
    most = std::max(most, size);
  }
};
using AskedSizesByWork = std::map<AskedWork, AskedSizes>;

// Prices as a calibration does, notes what is asked, and gives some work for free.
class AskedCost final : public CostModel {
 public:
  AskedCost(const CalibratedCost& cost, std::set<AskedWork> free) : cost_(cost), free_(std::move(free)) {}

  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override {
    std::vector<Kernel> priced;
    for (const Kernel& kernel : sequence) {
      const AskedWork work = work_of(kernel, cost_);
      asked_[work].add(work.kind == AskedWork::Kind::kGemm ? static_cast<double>(kernel.m) : kernel.bytes);
      if (!free_.contains(work)) priced.push_back(kernel);
    }
    return cost_.kernels(priced);
  }

  [[nodiscard]] Cost collective(const CollectiveCall& call) const override {
    if (call.group.size <= 1) return cost_.collective(call);
    const AskedWork work = work_of(call, cost_);
    asked_[work].add(call.bytes);
    return free_.contains(work) ? Cost{0, Tier::kMeasured} : cost_.collective(call);
  }

  [[nodiscard]] const AskedSizesByWork& asked() const { return asked_; }

 private:
  const CalibratedCost& cost_;
  std::set<AskedWork> free_;
  mutable AskedSizesByWork asked_;  // by one thread: the one that builds the step
};

Result<SimDuration> step_priced_by(const AskedCost& cost, const TrainingPlan& plan, std::uint64_t seed) {
  GOODPUT_TRY(const PlannedStep step, build_planned_step(plan, cost, Granularity::kLayers, seed));
  return step_time(step);
}

}  // namespace

std::string AskedWork::name() const {
  constexpr std::string_view kPrecisions[] = {"fp32", "16 bits", "fp8"};
  switch (kind) {
    case Kind::kCollective:
      return fmt::format("{}: {} GPUs, {} a node", kMeasuredOpNames[static_cast<std::size_t>(collective)],
                         ranks, std::min(per_node, ranks));
    case Kind::kGemm:
      return fmt::format("gemm: n {}, k {}, {}{}", n, k, kPrecisions[static_cast<std::size_t>(precision)],
                         batch == 1 ? "" : fmt::format(", {} at once", batch));
    case Kind::kAttention:
      return "attention";
    case Kind::kMemory:
      return "kernels that move memory";
  }
  GOODPUT_CHECK(false, "no such kind of work");
}

Result<PlanGaps> find_plan_gaps(const TrainingPlan& plan, const Calibration& calibration,
                                std::uint64_t seed) {
  GOODPUT_TRY_STATUS(check_machine(calibration, plan.cluster));
  TrainingPlan settled_plan = plan;
  settled_plan.parallel = settled(plan.parallel, plan.cluster.gpus_per_node);
  GOODPUT_TRY_STATUS(check_training_plan(settled_plan));
  const CalibratedCost cost(plan.cluster, plan.roofline, calibration);
  const AskedCost whole(cost, {});
  PlanGaps found;
  GOODPUT_TRY(found.step, step_priced_by(whole, settled_plan, seed));
  const auto share_of = [&](const std::set<AskedWork>& free) -> Result<double> {
    if (free.size() == whole.asked().size()) return 1.0;  // no step takes no time
    GOODPUT_TRY(const SimDuration without, step_priced_by(AskedCost(cost, free), settled_plan, seed));
    return found.step > without ? 1 - to_seconds(without) / to_seconds(found.step) : 0.0;
  };
  std::set<AskedWork> all;
  for (const auto& [work, sizes] : whole.asked()) {
    if (work.coverage == TableCoverage::kMeasured) continue;
    all.insert(work);
    GOODPUT_TRY(const double share, share_of({work}));
    found.gaps.push_back({work, sizes.least, sizes.most, share});
  }
  GOODPUT_TRY(found.share, share_of(all));
  std::stable_sort(found.gaps.begin(), found.gaps.end(),
                   [](const PlanGap& a, const PlanGap& b) { return a.share > b.share; });
  return found;
}

}  // namespace goodput
