#include "tools/plan_step/plan_step_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <span>

#include "models/cost/cost_models.h"
#include "models/step/step_report.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/plan_step/batch_columns.h"
#include "traces/io/byte_source.h"

namespace goodput {
namespace {

enum Column : std::uint8_t {  // into kColumns
  kGpus,
  kGlobalBatch,
  kMicroBatch,
  kHidden,
  kHeads,
  kLayers,
  kSequence,
  kTp,
  kDp,
  kPp,
};
struct ColumnInfo {
  std::string_view name;
  std::int32_t most;  // what a plan may say (docs/formats/plans.md)
};
constexpr std::array<ColumnInfo, 10> kColumns = {{
    {"# GPUs", 1'000'000'000},
    {"global batch", 1'000'000'000},
    {"micro batch", 1'000'000'000},
    {"hidden size", 1'000'000},
    {"attention heads", 1'000'000},
    {"# layers", 10'000},
    {"sequence length", 1'000'000'000},
    {"tensor parallelism", 10'000'000},
    {"data parallelism", 10'000'000},
    {"pipeline parallelism", 10'000'000},
}};
constexpr std::string_view kMeasured = "measured_ms";
constexpr std::string_view kError = "error";
constexpr std::array<std::string_view, 5> kAppended = {"predicted_ms", "mfu", "memory_gib", "fits", kError};
constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

// Reads cells one character at a time: a quote opens a cell at its first character only, and two within
// quotes are one (RFC 4180).
class CellReader {
 public:
  void see(char c) {
    if (is_quoted_ && c == '"') {
      is_quoted_ = false;
      was_quoted_ = true;
    } else if (is_quoted_) {
      cells_.back() += c;
    } else if (c == '"' && was_quoted_) {
      cells_.back() += c;
      is_quoted_ = true;
    } else if (c == '"' && cells_.back().empty()) {
      is_quoted_ = true;
    } else if (c == ',') {
      cells_.emplace_back();
      was_quoted_ = false;
    } else {
      cells_.back() += c;
      was_quoted_ = false;
    }
  }
  // A comma or line end would belong to the cell.
  [[nodiscard]] bool is_quoted() const { return is_quoted_; }
  [[nodiscard]] std::vector<std::string> take() && { return std::move(cells_); }

 private:
  std::vector<std::string> cells_ = std::vector<std::string>(1);
  bool is_quoted_ = false;
  bool was_quoted_ = false;  // the character before closed a quote
};

std::vector<std::string> split(std::string_view row) {
  CellReader reader;
  for (const char c : row) reader.see(c);
  return std::move(reader).take();
}

using Positions = std::array<std::size_t, kColumns.size()>;

Result<Positions> find_columns(const std::vector<std::string>& header) {
  std::vector<std::string_view> names;
  for (const std::string& cell : header) names.push_back(trimmed(cell));
  Positions positions{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const std::string_view wanted = kColumns[i].name;
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end()) {
      const std::string hint = did_you_mean(wanted, names);
      return Error{fmt::format("no column {}{}", in_quotes(wanted), hint)};
    }
    if (std::find(found + 1, names.end(), wanted) != names.end())
      return Error{fmt::format("column {} is there twice", in_quotes(wanted))};
    positions[i] = static_cast<std::size_t>(found - names.begin());
  }
  return positions;
}

using Values = std::array<std::int32_t, kColumns.size()>;

Result<Values> read_values(const std::vector<std::string>& cells, const Positions& positions) {
  Values values{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto& [name, most] = kColumns[i];
    const std::string_view cell = trimmed(cells[positions[i]]);
    double value = 0;
    const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool is_number = problem == std::errc{} && end == cell.data() + cell.size();
    if (!is_number || !(value >= 1 && value <= most) || value != std::floor(value)) {
      return Error{fmt::format("{} is {}, want a whole number from 1 to {}", name, in_quotes(cell), most)};
    }
    values[i] = static_cast<std::int32_t>(value);
  }
  return values;
}

Status set_model(ModelShape& model, const Values& values) {
  const std::int32_t hidden = values[kHidden];
  const std::int32_t heads = values[kHeads];
  if (!model.latent && hidden % heads != 0)
    return Error{fmt::format("hidden size {} is not divisible by {} attention heads", hidden, heads)};
  model.hidden = hidden;
  model.ffn = 4 * hidden;
  model.heads = heads;
  model.kv_heads = model.head_dim = 0;  // derived anew
  model.layers = values[kLayers];
  if (model.learned_positions > 0) model.learned_positions = values[kSequence];
  if (const Status finished = config_finish(model); !finished) return finished.error().inside("/model");
  return Ok{};
}

Status set_parallel(TrainingPlan& plan, const Values& values) {
  ParallelPlan& parallel = plan.parallel;
  parallel.global_batch = values[kGlobalBatch];
  parallel.micro_batch = values[kMicroBatch];
  parallel.sequence_length = values[kSequence];
  parallel.tp = values[kTp];
  parallel.dp = values[kDp];
  parallel.pp = values[kPp];
  const double gpus = static_cast<double>(parallel.dp) * parallel.pp * parallel.tp * parallel.cp;
  if (gpus != values[kGpus]) {
    return Error{fmt::format("# GPUs is {}, but tensor x data x {}pipeline parallelism is {:.0f}",
                             values[kGpus], parallel.cp > 1 ? "context x " : "", gpus)};
  }
  const std::int32_t per_node = plan.cluster.gpus_per_node;
  plan.cluster.nodes = std::max(plan.cluster.nodes, (values[kGpus] - 1) / per_node + 1);
  parallel = settled(parallel, per_node);
  return Ok{};
}

// Its messages have no file: where the numbers stand is the row.
Result<TrainingPlan> plan_of(const TrainingPlan& base, const Values& values) {
  TrainingPlan plan = base;
  plan.file.clear();
  GOODPUT_TRY_STATUS(set_model(plan.model, values));
  GOODPUT_TRY_STATUS(set_parallel(plan, values));
  GOODPUT_TRY_STATUS(check_training_plan(plan));
  return plan;
}

constexpr std::size_t kLargestBatch = std::size_t{1} << 26;
constexpr std::size_t kLongestRow = std::size_t{1} << 16;

// Up to the line end behind its last cell, without it; a quote that no other closes ends with its line.
// Advances `rest` to the next row.
std::string_view take_row(std::string_view& rest) {
  CellReader reader;
  std::size_t end = std::string_view::npos;
  const std::string_view longest = rest.substr(0, kLongestRow);
  for (std::size_t i = 0; i < longest.size() && end == std::string_view::npos; ++i) {
    if (rest[i] == '\n' && !reader.is_quoted()) end = i;
    reader.see(rest[i]);
  }
  if (end == std::string_view::npos) end = rest.find('\n');
  std::string_view row = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  if (row.ends_with('\r')) row.remove_suffix(1);
  return row;
}

// Reads the columns of vTrain's tables of measured steps (plan_step_batch.h).
class MeasuredColumns {
 public:
  static Result<MeasuredColumns> find(const std::vector<std::string>& header, const TrainingPlan& base) {
    MeasuredColumns columns(base);
    GOODPUT_TRY(columns.positions_, find_columns(header));
    return columns;
  }
  [[nodiscard]] Result<TrainingPlan> plan_of(const std::vector<std::string>& cells) const {
    GOODPUT_TRY(const Values values, read_values(cells, positions_));
    return goodput::plan_of(*base_, values);
  }

 private:
  explicit MeasuredColumns(const TrainingPlan& base) : base_(&base) {}

  const TrainingPlan* base_;
  Positions positions_{};
};

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
    const std::vector<std::string> header = split(row);
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
    if (std::ranges::any_of(header, is_named(kColumns[kGpus].name))) {
      GOODPUT_TRY(measured_, MeasuredColumns::find(header, base_));
      return Ok{};
    }
    GOODPUT_TRY(keys_, BatchColumns::find(header, base_));
    others_ = keys_->others();
    std::erase(others_, kMeasured);
    return Ok{};
  }
  Result<BatchRow> predict(std::string_view row) {
    const std::vector<std::string> cells = split(row);
    if (cells.size() != columns_)
      return Error{fmt::format("{} cells, but the header has {}", cells.size(), columns_)};
    GOODPUT_TRY(TrainingPlan plan, keys_ ? keys_->plan_of(cells) : measured_->plan_of(cells));
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
  std::optional<MeasuredColumns> measured_;
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
