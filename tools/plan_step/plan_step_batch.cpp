#include "tools/plan_step/plan_step_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <span>

#include "models/cost/cost_models.h"
#include "models/step/step_report.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/plan_step/batch_columns.h"
#include "tools/plan_step/csv_rows.h"
#include "tools/plan_step/vtrain_columns.h"
#include "traces/io/byte_source.h"

namespace goodput {
namespace {

constexpr std::string_view kMeasured = "measured_ms";
constexpr std::string_view kError = "error";
constexpr std::array<std::string_view, 5> kAppended = {"predicted_ms", "mfu", "memory_gib", "fits", kError};
constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

constexpr std::size_t kLargestBatch = std::size_t{1} << 26;

// The measured time of a row; none if the header has no such column or the cell is empty.
Result<std::optional<double>> measured_ms(const std::vector<std::string>& cells,
                                          const std::optional<std::size_t>& column) {
  if (!column) return std::optional<double>{};
  const std::string_view cell = trimmed(cells[*column]);
  if (cell.empty()) return std::optional<double>{};
  double value = 0;
  const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (problem != std::errc{} || end != cell.data() + cell.size() || !(value > 0 && value < 1e12))
    return Error{fmt::format("{} is {}, want milliseconds above 0", kMeasured, in_quotes(cell))};
  return std::optional(value);
}

// Caches cost models, because clusters and calibrations may differ by row.
class CostModels {
 public:
  Result<const CostModel*> of(const TrainingPlan& plan) {
    TrainingPlan key = plan;  // nodes do not matter to a price
    key.cluster.nodes = 1;
    ClusterConfig cluster{key.cluster, key.roofline};
    const std::string name = fmt::format("{} {} {}", config::write(config_fields(cluster)).dump(),
                                         plan.cost_model, plan.calibration);
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

class BatchPredictor {
 public:
  BatchPredictor(const TrainingPlan& base, Granularity granularity, std::uint64_t seed)
      : base_(base), granularity_(granularity), seed_(seed) {}

  // Fails if the base has no usable cost model, before any row is read.
  Status check_base() {
    GOODPUT_TRY_STATUS(costs_.of(base_));
    return Ok{};
  }
  // The header of the rows.
  Status read_header(std::string_view row) {
    const std::vector<std::string> header = cells_of(row);
    columns_ = header.size();
    const auto is_named = [&](std::string_view name) {
      return [name](const std::string& cell) { return trimmed(cell) == name; };
    };
    if (const auto at = std::ranges::find_if(header, is_named(kMeasured)); at != header.end())
      measured_at_ = static_cast<std::size_t>(at - header.begin());
    for (const std::string_view appended : appended_columns(measured_at_.has_value())) {
      if (std::ranges::any_of(header, is_named(appended)))
        return Error{fmt::format("has a column {} already; remove it", appended)};
    }
    if (VtrainColumns::are_in(header)) {
      GOODPUT_TRY(vtrain_, VtrainColumns::find(header, base_));
      return Ok{};
    }
    GOODPUT_TRY(keys_, BatchColumns::find(header, base_));
    others_ = keys_->others();
    std::erase(others_, kMeasured);
    return Ok{};
  }
  Result<BatchRow> predict(std::string_view row) {
    const std::vector<std::string> cells = cells_of(row);
    if (cells.size() != columns_)
      return Error{fmt::format("{} cells, but the header has {}", cells.size(), columns_)};
    GOODPUT_TRY(TrainingPlan plan, keys_ ? keys_->plan_of(cells) : vtrain_->plan_of(cells));
    GOODPUT_TRY(const std::optional<double> measured, measured_ms(cells, measured_at_));
    GOODPUT_TRY(const CostModel* cost, costs_.of(plan));
    GOODPUT_TRY(const PlannedStep step, build_planned_step(plan, *cost, granularity_, seed_));
    tier_ = lowest(tier_, step.tier);
    const SimDuration time = step_time(step);
    const MemoryReport memory = planned_memory(plan);
    BatchRow result;
    result.predicted_ms = 1e3 * to_seconds(time);
    result.mfu = model_flops_utilization(plan, plan.parallel, time);
    result.memory_gib = static_cast<double>(memory.stages[memory.fullest].total().value) / kGib;
    result.fits = memory.fits();
    if (measured) result.error = *result.predicted_ms / *measured - 1;
    return result;
  }
  [[nodiscard]] Tier tier() const { return tier_; }
  [[nodiscard]] bool has_measured() const { return measured_at_.has_value(); }
  [[nodiscard]] const std::vector<std::string>& others() const { return others_; }

 private:
  const TrainingPlan& base_;
  Granularity granularity_;
  std::uint64_t seed_;
  std::optional<VtrainColumns> vtrain_;
  std::optional<BatchColumns> keys_;
  std::optional<std::size_t> measured_at_;
  std::size_t columns_ = 0;
  std::vector<std::string> others_;
  CostModels costs_;
  Tier tier_ = Tier::kMeasured;
};

// The appended cells of a row; all empty if there is no prediction.
std::string appended_cells(const std::optional<BatchRow>& row, bool has_measured) {
  const char* last = has_measured ? "," : "";
  if (!row) return fmt::format(",,,{}", last);
  std::string cells = fmt::format("{:.6f},{:.4f},{:.2f},{}", *row->predicted_ms, row->mfu, row->memory_gib,
                                  row->fits ? "true" : "false");
  if (has_measured) cells += row->error ? fmt::format(",{:.4f}", *row->error) : ",";
  return cells;
}

}  // namespace

Result<BatchResult> predict_rows(const TrainingPlan& base, const std::string& path, Granularity granularity,
                                 std::uint64_t seed) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(const std::string text, read_all(source, kLargestBatch));
  std::string_view rest = text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  BatchPredictor predictor(base, granularity, seed);
  GOODPUT_TRY_STATUS(predictor.check_base());
  const std::string_view header = take_row(rest);
  if (const Status read = predictor.read_header(header); !read)
    return Error{read.error().message(), {.file = path, .position = Position::line(1)}};
  BatchResult result;
  result.others = predictor.others();
  result.csv = fmt::format("{},{}\n", header, fmt::join(appended_columns(predictor.has_measured()), ","));
  auto line = 1 + std::count(text.begin(), text.end() - static_cast<std::ptrdiff_t>(rest.size()), '\n');
  while (!rest.empty()) {
    const std::ptrdiff_t first_line = line;
    const std::string_view before = rest;
    const std::string_view row = take_row(rest);
    line += std::count(before.begin(), before.end() - static_cast<std::ptrdiff_t>(rest.size()), '\n');
    if (trimmed(row).empty()) continue;
    const Result<BatchRow> predicted = predictor.predict(row);
    result.csv += fmt::format(
        "{},{}\n", row,
        appended_cells(predicted ? std::optional(*predicted) : std::nullopt, predictor.has_measured()));
    result.rows.push_back(predicted ? *predicted : BatchRow{});
    result.rows.back().line = static_cast<std::size_t>(first_line);
    if (predicted) continue;
    result.errors.push_back(
        Error{predicted.error().message(),
              {.file = path, .position = Position::line(static_cast<std::uint64_t>(first_line))}}
            .message());
  }
  result.tier = predictor.tier();
  return result;
}

}  // namespace goodput
