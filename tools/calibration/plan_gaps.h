// What a step of a plan asks for and a calibration does not answer from the tables of that very op.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/cost/calibrated.h"
#include "models/cost/calibration.h"
#include "models/plan/training_plan.h"
#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// Work that one table could answer for: a collective of a group, products with one n and k, or all work of a
// kind of which a cost model knows no more.
struct AskedWork {
  enum class Kind : std::uint8_t { kCollective, kGemm, kAttention, kMemory };
  Kind kind = Kind::kMemory;
  Collective collective = Collective::kAllReduce;
  std::int32_t ranks = 0, per_node = 0;
  std::int64_t n = 0, k = 0, batch = 0;
  Precision precision = Precision::kBf16;
  TableCoverage coverage = TableCoverage::kNone;

  // "gemm: n 4096, k 14336, 16 bits"
  [[nodiscard]] std::string name() const;

  friend auto operator<=>(const AskedWork&, const AskedWork&) = default;
};

struct PlanGap {
  AskedWork work;
  double least = 0, most = 0;  // sizes that were asked for: bytes, or rows of a product
  double share = 0;            // by how much of itself the step would be shorter, were this work free
};

struct PlanGaps {
  SimDuration step{};           // as this calibration prices it
  std::vector<PlanGap> gaps{};  // the largest share first
  double share = 0;             // of all of them together
};

// The step is priced by `calibration`, whatever cost model the plan names, once as it is and once without
// each piece of work. Fails where the calibration is of another GPU, and where the step cannot be built.
Result<PlanGaps> find_plan_gaps(const TrainingPlan& plan, const Calibration& calibration, std::uint64_t seed);

[[nodiscard]] std::string plan_gaps_text(const PlanGaps& gaps, const std::string& plan);

// docs/formats/calibration-results.md, the key `plan` of "goodput.calibration_info/1".
[[nodiscard]] nlohmann::ordered_json plan_gaps_json(const PlanGaps& gaps, const std::string& plan);

}  // namespace goodput
