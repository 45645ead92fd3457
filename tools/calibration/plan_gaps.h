// What a step of a plan asks for and a calibration does not answer from the tables of that very op.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/cost/calibrated.h"
#include "models/cost/calibration.h"
#include "models/plan/training_plan.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "sim/base/units.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// The work whose cost a step asks for, in pieces that one calibration table could answer: the collectives of
// a group; matrix products that have two of m, n and k in common; or all other work of one kind.
struct AskedWork {
  enum class Kind : std::uint8_t { kCollective, kGemm, kAttention, kMemory };
  Kind kind = Kind::kMemory;
  Collective collective = Collective::kAllReduce;
  std::int32_t ranks = 0, per_node = 0;
  std::int64_t m = 0, n = 0, k = 0, batch = 0;  // m or k is 0: they differ in it
  Precision precision = Precision::kBf16;
  TableCoverage coverage = TableCoverage::kNone;

  // "gemm: n 4096, k 14336, 16 bits"
  [[nodiscard]] std::string name() const;
  // What its pieces differ in: "m", "k", "bytes".
  [[nodiscard]] std::string_view size_key() const;

  friend auto operator<=>(const AskedWork&, const AskedWork&) = default;
};

// Sizes that were asked for.
struct AskedSizes {
  double least = 0, most = 0;

  void add(double size);
};

struct AskedProduct {
  std::int64_t m = 0, n = 0, k = 0, batch = 0;
  Precision precision = Precision::kBf16;

  friend auto operator<=>(const AskedProduct&, const AskedProduct&) = default;
};

// Everything that was asked, by work. Products are of one n and k with any m, as tables are; but of one m and
// n where many k go with these, and fewer m with n and k: a gradient of weights sums over the tokens of each
// expert.
class AskedStep {
 public:
  void add(const Kernel& kernel);
  void add(const CollectiveCall& call, const CalibratedCost& cost);
  // Once all is added.
  void sort_products(const CalibratedCost& cost);

  [[nodiscard]] const std::map<AskedWork, AskedSizes>& works() const { return works_; }
  // REQUIRES: the kernel was added, and sort_products() called.
  [[nodiscard]] AskedWork work_of(const Kernel& kernel) const;
  [[nodiscard]] static AskedWork work_of(const CollectiveCall& call, const CalibratedCost& cost);

 private:
  std::map<AskedProduct, AskedWork> products_;
  std::map<AskedWork, AskedSizes> works_;
};

struct PlanGap {
  AskedWork work{};
  AskedSizes sizes{};
  double share = 0;  // by how much of itself the step would be shorter, were this work free
};

struct PlanGaps {
  SimDuration step{};           // as this calibration prices it
  std::vector<PlanGap> gaps{};  // the largest share first
  double share = 0;             // of all of them together
};

// The step is priced by `calibration`, whatever cost model the plan names, once as it is and once without
// each piece of work, on `jobs` threads. Fails where the calibration is of another GPU, and where the step
// cannot be built.
Result<PlanGaps> find_plan_gaps(const TrainingPlan& plan, const Calibration& calibration, std::uint64_t seed,
                                unsigned jobs);

[[nodiscard]] std::string plan_gaps_text(const PlanGaps& gaps, const std::string& plan);

// docs/formats/calibration-results.md, the key `plan` of "goodput.calibration_info/1".
[[nodiscard]] OrderedJson plan_gaps_json(const PlanGaps& gaps, const std::string& plan);

}  // namespace goodput
