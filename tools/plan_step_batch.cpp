#include "tools/plan_step_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>

#include "models/cost_models.h"
#include "models/planned_step.h"
#include "models/step_report.h"
#include "sim/did_you_mean.h"
#include "traces/byte_source.h"

namespace goodput {
namespace {

enum Column : std::uint8_t {
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
constexpr std::array<std::string_view, 10> kColumns = {
    "# GPUs",   "global batch",    "micro batch",        "hidden size",      "attention heads",
    "# layers", "sequence length", "tensor parallelism", "data parallelism", "pipeline parallelism"};

// Cells of a line; quotes keep commas (RFC 4180).
std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

using Positions = std::array<std::size_t, kColumns.size()>;

Result<Positions> find_columns(const std::vector<std::string>& header, const std::string& where) {
  std::vector<std::string_view> names;
  for (const std::string& cell : header) names.push_back(trimmed(cell));
  Positions positions{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), kColumns[i]);
    if (found == names.end()) {
      return Error{where, fmt::format("no column {}{}", goodput::quoted(kColumns[i]),
                                      did_you_mean(kColumns[i], names))};
    }
    positions[i] = static_cast<std::size_t>(found - names.begin());
  }
  return positions;
}

using Values = std::array<std::int32_t, kColumns.size()>;

Result<Values> read_values(const std::vector<std::string>& cells, const Positions& positions,
                           std::size_t columns) {
  if (cells.size() != columns) {
    return Error{"", fmt::format("{} cells, but the header has {}", cells.size(), columns)};
  }
  Values values{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const std::string_view cell = trimmed(cells[positions[i]]);
    double value = 0;
    const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool is_number = problem == std::errc{} && end == cell.data() + cell.size();
    if (!is_number || !(value >= 1 && value <= 1e9) || value != std::floor(value)) {
      return Error{
          "", fmt::format("{} is {}, want a whole number from 1 on", kColumns[i], goodput::quoted(cell))};
    }
    values[i] = static_cast<std::int32_t>(value);
  }
  return values;
}

Result<TrainingPlan> plan_of(const TrainingPlan& base, const Values& values) {
  TrainingPlan plan = base;
  plan.model.hidden = values[kHidden];
  plan.model.ffn = 4 * values[kHidden];
  plan.model.heads = plan.model.kv_heads = values[kHeads];
  plan.model.layers = values[kLayers];
  if (plan.model.learned_positions > 0) plan.model.learned_positions = values[kSequence];
  if (values[kHidden] % values[kHeads] != 0) {
    return Error{"", fmt::format("hidden size {} is not divisible by {} attention heads", values[kHidden],
                                 values[kHeads])};
  }
  plan.model.head_dim = values[kHidden] / values[kHeads];
  ParallelPlan& parallel = plan.parallel;
  parallel.global_batch = values[kGlobalBatch];
  parallel.micro_batch = values[kMicroBatch];
  parallel.sequence_length = values[kSequence];
  parallel.tp = values[kTp];
  parallel.dp = values[kDp];
  parallel.pp = values[kPp];
  if (parallel.gpus() != values[kGpus]) {
    return Error{"", fmt::format("# GPUs is {}, but tensor x data x pipeline parallelism is {}",
                                 values[kGpus], parallel.gpus())};
  }
  const std::int32_t per_node = plan.cluster.gpus_per_node;
  plan.cluster.nodes = std::max(plan.cluster.nodes, (values[kGpus] + per_node - 1) / per_node);
  parallel = settled(parallel, per_node);
  GOODPUT_TRY_STATUS(check_training_plan(plan));
  return plan;
}

Result<double> predict_ms(const TrainingPlan& plan, std::uint64_t seed) {
  GOODPUT_TRY(const std::unique_ptr<CostModel> cost, make_cost_model(plan));
  GOODPUT_TRY(const PlannedStep step, build_planned_step(plan, *cost, Granularity::kOps, seed));
  return 1e3 * to_seconds(step_time(step));
}

constexpr std::size_t kLargestBatch = std::size_t{1} << 30;

// Without its line end. Advances `rest` to the next line.
std::string_view take_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<double> predict_row(const TrainingPlan& base, std::string_view line, const Positions& positions,
                           std::size_t columns, std::uint64_t seed) {
  GOODPUT_TRY(const Values values, read_values(split(line), positions, columns));
  GOODPUT_TRY(const TrainingPlan plan, plan_of(base, values));
  return predict_ms(plan, seed);
}

}  // namespace

Result<BatchResult> predict_rows(const TrainingPlan& base, const std::string& path, std::uint64_t seed) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(const std::string text, read_all(source, kLargestBatch));
  std::string_view rest = text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  const std::string_view header_line = take_line(rest);
  const std::vector<std::string> header = split(header_line);
  GOODPUT_TRY(const Positions positions, find_columns(header, path + ":1"));
  BatchResult result;
  result.csv = fmt::format("{},predicted_ms\n", header_line);
  for (std::size_t line_number = 2; !rest.empty(); ++line_number) {
    const std::string_view line = take_line(rest);
    if (trimmed(line).empty()) continue;
    const auto predicted = predict_row(base, line, positions, header.size(), seed);
    if (predicted) {
      result.csv += fmt::format("{},{:.6f}\n", line, *predicted);
      ++result.predicted;
    } else {
      result.csv += fmt::format("{},\n", line);
      result.errors.push_back(fmt::format("{}:{}: {}", path, line_number, predicted.error().message()));
    }
  }
  return result;
}

}  // namespace goodput
