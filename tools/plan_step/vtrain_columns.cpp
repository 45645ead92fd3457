#include "tools/plan_step/vtrain_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "sim/base/text.h"
#include "tools/plan_step/csv_rows.h"

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
  std::int32_t max;  // the largest value that plans allow (docs/formats/plans.md)
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

using Positions = std::array<std::size_t, kColumns.size()>;

Result<Positions> find_columns(std::span<const std::string> header) {
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
      return Error{fmt::format("column {} appears twice", in_quotes(wanted))};
    positions[i] = static_cast<std::size_t>(found - names.begin());
  }
  return positions;
}

using Values = std::array<std::int32_t, kColumns.size()>;

Result<Values> read_values(std::span<const std::string> cells, const Positions& positions) {
  Values values{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto& [name, max] = kColumns[i];
    const std::string_view cell = trimmed(cells[positions[i]]);
    double value = 0;
    const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool is_number = problem == std::errc{} && end == cell.data() + cell.size();
    if (!is_number || !(value >= 1 && value <= max) || value != std::floor(value)) {
      return Error{fmt::format("{} must be a whole number from 1 to {}, not {}", name, max, in_quotes(cell))};
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

}  // namespace

bool VtrainColumns::are_in(std::span<const std::string> header) {
  return std::ranges::any_of(header,
                             [](const std::string& cell) { return trimmed(cell) == kColumns[kGpus].name; });
}

Result<VtrainColumns> VtrainColumns::find(std::span<const std::string> header, const TrainingPlan& base) {
  VtrainColumns columns(base);
  GOODPUT_TRY(columns.positions_, find_columns(header));
  return columns;
}

// The copy loses the file's name because messages point into the row, not into the base's file.
Result<TrainingPlan> VtrainColumns::plan_of(std::span<const std::string> cells) const {
  GOODPUT_TRY(const Values values, read_values(cells, positions_));
  TrainingPlan plan = *base_;
  plan.file.clear();
  GOODPUT_TRY_STATUS(set_model(plan.model, values));
  GOODPUT_TRY_STATUS(set_parallel(plan, values));
  GOODPUT_TRY_STATUS(check_training_plan(plan));
  return plan;
}

}  // namespace goodput
