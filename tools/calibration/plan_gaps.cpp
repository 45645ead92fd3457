#include "tools/calibration/plan_gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "models/step/granularity.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/parallel.h"

namespace goodput {
namespace {

// Fewer products that differ in k are of different layers.
constexpr std::size_t kManyProducts = 8;

AskedProduct product_of(const Kernel& kernel) {
  return {kernel.m, kernel.n, kernel.k, kernel.batch, kernel.precision};
}

std::string gemm_name(const AskedWork& work) {
  const std::string shape =
      work.k == 0 ? fmt::format("m {}, n {}", work.m, work.n) : fmt::format("n {}, k {}", work.n, work.k);
  return fmt::format("gemm: {}, {}{}", shape, kPrecisionNames[static_cast<std::size_t>(work.precision)],
                     work.batch == 1 ? "" : fmt::format(", batch of {}", work.batch));
}

// How many products there are of each shape without its m, and without its k.
struct ShapeCounts {
  using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t, Precision>;
  std::map<Shape, std::size_t> without_m, without_k;

  [[nodiscard]] static Shape no_m(const AskedProduct& one) {
    return {one.n, one.k, one.batch, one.precision};
  }
  [[nodiscard]] static Shape no_k(const AskedProduct& one) {
    return {one.m, one.n, one.batch, one.precision};
  }

  void add(const AskedProduct& product) {
    ++without_m[no_m(product)];
    ++without_k[no_k(product)];
  }
  [[nodiscard]] bool differ_in_k(const AskedProduct& product) const {
    const std::size_t of_k = without_k.at(no_k(product));
    return of_k >= kManyProducts && of_k > without_m.at(no_m(product));
  }
};

TableCoverage coverage_of(const AskedProduct& product, const CalibratedCost& cost) {
  return cost.coverage(Kernel{.kind = Kernel::Kind::kGemm,
                              .precision = product.precision,
                              .batch = product.batch,
                              .m = product.m,
                              .n = product.n,
                              .k = product.k});
}

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

// Prices as a calibration does, and notes what is asked. For one thread.
class AskedCost final : public CostModel {
 public:
  // Keeps references.
  AskedCost(const CalibratedCost& cost, AskedStep& asked) : cost_(cost), asked_(asked) {}

  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override {
    for (const Kernel& kernel : sequence) asked_.add(kernel);
    return cost_.kernels(sequence);
  }
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override {
    if (call.group.size > 1) asked_.add(call, cost_);
    return cost_.collective(call);
  }

 private:
  const CalibratedCost& cost_;
  AskedStep& asked_;
};

// Prices as a calibration does, but gives some work for free. For any thread.
class CostWithout final : public CostModel {
 public:
  // Keeps references.
  CostWithout(const CalibratedCost& cost, const AskedStep& asked, std::set<AskedWork> free)
      : cost_(cost), asked_(asked), free_(std::move(free)) {}

  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override {
    std::vector<Kernel> priced;
    for (const Kernel& kernel : sequence) {
      if (!free_.contains(asked_.work_of(kernel))) priced.push_back(kernel);
    }
    return cost_.kernels(priced);
  }
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override {
    if (call.group.size > 1 && free_.contains(AskedStep::work_of(call, cost_))) return {0, Tier::kMeasured};
    return cost_.collective(call);
  }

 private:
  const CalibratedCost& cost_;
  const AskedStep& asked_;
  std::set<AskedWork> free_;
};

}  // namespace

std::string AskedWork::name() const {
  switch (kind) {
    case Kind::kCollective:
      return fmt::format("{}: {} GPUs, {} per node", kMeasuredOpNames[static_cast<std::size_t>(collective)],
                         ranks, std::min(per_node, ranks));
    case Kind::kGemm:
      return gemm_name(*this);
    case Kind::kAttention:
      return "attention";
    case Kind::kMemory:
      return "memory-bound kernels";
  }
  GOODPUT_CHECK(false, "no such kind of work");
}

std::string_view AskedWork::size_key() const {
  if (kind != Kind::kGemm) return "bytes";
  return k == 0 ? "k" : "m";
}

void AskedSizes::add(double size) {
  least = most == 0 ? size : std::min(least, size);
  most = std::max(most, size);
}

void AskedStep::add(const Kernel& kernel) {
  if (kernel.kind == Kernel::Kind::kGemm)
    products_.try_emplace(product_of(kernel));
  else
    works_[work_of(kernel)].add(kernel.bytes);
}

void AskedStep::add(const CollectiveCall& call, const CalibratedCost& cost) {
  works_[work_of(call, cost)].add(call.bytes);
}

void AskedStep::sort_products(const CalibratedCost& cost) {
  ShapeCounts counts;
  for (const auto& [product, unsorted] : products_) counts.add(product);
  for (auto& [product, work] : products_) {
    work = {.kind = AskedWork::Kind::kGemm,
            .n = product.n,
            .batch = product.batch,
            .precision = product.precision,
            .coverage = coverage_of(product, cost)};
    const bool differ_in_k = counts.differ_in_k(product);
    (differ_in_k ? work.m : work.k) = differ_in_k ? product.m : product.k;
    works_[work].add(static_cast<double>(differ_in_k ? product.k : product.m));
  }
}

AskedWork AskedStep::work_of(const Kernel& kernel) const {
  switch (kernel.kind) {
    case Kernel::Kind::kGemm:
      return products_.at(product_of(kernel));
    case Kernel::Kind::kAttention:
      return {.kind = AskedWork::Kind::kAttention};
    case Kernel::Kind::kMemory:
      return {.kind = AskedWork::Kind::kMemory};
  }
  GOODPUT_CHECK(false, "no such kind of kernel");
}

AskedWork AskedStep::work_of(const CollectiveCall& call, const CalibratedCost& cost) {
  return {.kind = AskedWork::Kind::kCollective,
          .collective = call.kind,
          .ranks = call.group.size,
          .per_node = call.group.per_node,
          .coverage = cost.coverage(call)};
}

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
