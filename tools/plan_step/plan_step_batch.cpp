#include "tools/plan_step/plan_step_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>

#include "models/cost/cost_models.h"
#include "models/stack/step_range.h"
#include "models/step/step_report.h"
#include "sim/base/json.h"
#include "tools/plan_step/batch_rows.h"

namespace goodput {
namespace {

constexpr std::string_view kError = "error";
constexpr std::array<std::string_view, 5> kAppended = {"predicted_ms", "mfu", "memory_gib", "fits", kError};
constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

// Caches cost models, because clusters and calibrations may differ by row.
class CostModels {
 public:
  Result<const CostModel*> of(const TrainingPlan& plan) {
    TrainingPlan key = plan;  // nodes do not matter to a price
    key.cluster.nodes = 1;
    ClusterConfig cluster{key.cluster, key.roofline};
    const std::string name =
        fmt::format("{} {} {} {}", config::write(config_fields(cluster)).dump(), plan.cost_model,
                    plan.calibration, plan.roofline.measured_gemm_factor);
    auto found = models_.find(name);
    if (found == models_.end()) {
      GOODPUT_TRY(std::unique_ptr<CostModel> made, make_cost_model(cost_inputs(plan)));
      found = models_.emplace(name, std::move(made)).first;
    }
    return found->second.get();
  }

 private:
  std::map<std::string, std::unique_ptr<CostModel>> models_;
};

std::span<const std::string_view> appended_columns(bool has_measured) {
  return std::span(kAppended).first(kAppended.size() - (has_measured ? 0 : 1));
}

// No column may have the name of one that is appended.
Status check_names(const BatchRows& rows) {
  for (const std::string_view appended : appended_columns(rows.has_measured())) {
    if (std::ranges::find(rows.header(), appended) != rows.header().end())
      return rows.error(fmt::format("already has a column {}; remove it", appended));
  }
  return Ok{};
}

class BatchPredictor {
 public:
  BatchPredictor(Granularity granularity, std::uint64_t seed) : granularity_(granularity), seed_(seed) {}

  // Fails if the plan has no usable cost model.
  Status check(const TrainingPlan& plan) {
    GOODPUT_TRY_STATUS(costs_.of(plan));
    return Ok{};
  }
  Result<BatchRow> predict(const BatchInput& input) {
    const TrainingPlan& plan = input.plan;
    GOODPUT_TRY(const CostModel* cost, costs_.of(plan));
    GOODPUT_TRY(const PlannedStep step, build_planned_step(plan, *cost, granularity_, seed_));
    tier_ = lowest(tier_, step.tier);
    const SimDuration time = step_time(step);
    const MemoryReport memory = planned_memory(plan);
    BatchRow result;
    result.predicted_ms = 1e3 * to_seconds(time);
    const StepRange range = range_for(plan.stack, family_of(plan, plan.parallel));
    result.low_ms = *result.predicted_ms * range.low;
    result.high_ms = *result.predicted_ms * range.high;
    result.mfu = model_flops_utilization(plan, plan.parallel, time);
    result.memory_gib = static_cast<double>(memory.stages[memory.fullest].total().value) / kGib;
    result.fits = memory.fits();
    if (input.measured_ms) result.error = *result.predicted_ms / *input.measured_ms - 1;
    return result;
  }
  [[nodiscard]] Tier tier() const { return tier_; }

 private:
  Granularity granularity_;
  std::uint64_t seed_;
  CostModels costs_;
  Tier tier_ = Tier::kMeasured;
};

// The appended cells of a row; all empty if there is no prediction.
std::string appended_cells(const BatchRow& row, bool has_measured) {
  const char* last = has_measured ? "," : "";
  if (!row.predicted_ms) return fmt::format(",,,{}", last);
  std::string cells = fmt::format("{:.6f},{:.4f},{:.2f},{}", *row.predicted_ms, row.mfu, row.memory_gib,
                                  row.fits ? "true" : "false");
  if (has_measured) cells += row.error ? fmt::format(",{:.4f}", *row.error) : ",";
  return cells;
}

Result<BatchRow> predict_row(const BatchRows& rows, BatchPredictor& predictor) {
  GOODPUT_TRY(const BatchInput input, rows.read());
  Result<BatchRow> predicted = predictor.predict(input);
  if (!predicted) return rows.error(predicted.error().message());
  return predicted;
}

}  // namespace

Result<BatchResult> predict_rows(const TrainingPlan& base, const std::string& path, Granularity granularity,
                                 std::uint64_t seed) {
  BatchPredictor predictor(granularity, seed);
  GOODPUT_TRY_STATUS(predictor.check(base));
  GOODPUT_TRY(BatchRows rows, BatchRows::open(base, path));
  GOODPUT_TRY_STATUS(check_names(rows));
  BatchResult result;
  result.others = rows.others();
  result.csv =
      fmt::format("{},{}\n", rows.header_text(), fmt::join(appended_columns(rows.has_measured()), ","));
  while (rows.next()) {
    const Result<BatchRow> predicted = predict_row(rows, predictor);
    if (!predicted) result.errors.push_back(predicted.error().message());
    result.rows.push_back(predicted ? *predicted : BatchRow{});
    result.rows.back().line = rows.line();
    result.csv +=
        fmt::format("{},{}\n", rows.text(), appended_cells(result.rows.back(), rows.has_measured()));
  }
  result.tier = predictor.tier();
  return result;
}

}  // namespace goodput
