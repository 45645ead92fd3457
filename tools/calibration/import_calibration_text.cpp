#include "tools/calibration/import_calibration_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/calibration/table_text.h"
#include "tools/cli/text_table.h"

namespace goodput {
namespace {

// The highest bus bandwidth in GB/s, or TFLOP/s of a GEMM.
double peak_rate(const Measurement& table) {
  double peak = 0;
  for (const MeasuredPoint& point : table.points) {
    const auto size = static_cast<double>(point.size());
    const double work = is_collective(table.op) ? 1e-3 * bus_factor(table.op, table.params.ranks) * size
                                                : 2e-6 * size * static_cast<double>(table.params.n) *
                                                      static_cast<double>(table.params.k);
    peak = std::max(peak, work / point.median_us);
  }
  return peak;
}

// "all_reduce, all_gather and gemm"
std::string ops_text(const std::vector<Measurement>& tables) {
  std::vector<std::string_view> ops;
  for (const Measurement& table : tables) {
    const std::string_view op = to_string(table.op);
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  }
  const std::string_view last = ops.back();
  ops.pop_back();
  return ops.empty() ? std::string(last) : fmt::format("{} and {}", fmt::join(ops, ", "), last);
}

std::int64_t nodes_of(const Measurement& table) {
  return table.params.per_node > 0 ? table.params.ranks / table.params.per_node : 1;
}

// "up to 2 nodes with 8 x NVIDIA H100 80GB HBM3, measured with NCCL 2.18.3"
std::string machine_text(const Calibration& calibration) {
  const auto [fewest, most] = std::minmax_element(
      calibration.ops.begin(), calibration.ops.end(),
      [](const Measurement& a, const Measurement& b) { return nodes_of(a) < nodes_of(b); });
  const std::int64_t nodes = nodes_of(*most);
  const MeasuredMachine& machine = calibration.machine;
  std::string text = on_one_line(machine.gpu);
  if (machine.gpus > 0) text = fmt::format("{} x {}", machine.gpus, text);
  if (nodes > 1)
    text = fmt::format("{}{} nodes with {}", nodes_of(*fewest) < nodes ? "up to " : "", nodes, text);
  if (!machine.nccl.empty()) text += fmt::format(", measured with NCCL {}", on_one_line(machine.nccl));
  return text;
}

}  // namespace

std::string import_calibration_text(const BenchmarkCalibration& imported, const std::string& out) {
  const std::vector<Measurement>& tables = imported.calibration.ops;
  std::string text =
      fmt::format("Wrote {}: {} of {} on {}.\n\n", on_one_line(out), counted(tables.size(), "table"),
                  ops_text(tables), machine_text(imported.calibration));
  std::vector<TextRow> rows = {{"table", "sizes", "points", "peak"}};
  for (const Measurement& table : tables) {
    rows.push_back(
        {table_name(table), sizes_text(table), fmt::format("{}", table.points.size()),
         fmt::format("{:.1f} {}", peak_rate(table), is_collective(table.op) ? "GB/s bus" : "TFLOP/s")});
  }
  return text + aligned(rows);
}

void add_import_calibration_json(const BenchmarkCalibration& imported, OrderedJson& json) {
  Calibration calibration = imported.calibration;
  json["machine"] = config::write(config_fields(calibration.machine));
  json["tables"] = OrderedJson::array();
  for (Measurement& table : calibration.ops) {
    OrderedJson one = {{"op", to_string(table.op)}, {"params", config::write(config_fields(table.params))}};
    one["source"] = table.source;
    one["lo"] = table.points.front().size();
    one["hi"] = table.points.back().size();
    one["points"] = table.points.size();
    one[is_collective(table.op) ? "peak_bus_gb_per_s" : "peak_tflops"] = peak_rate(table);
    json["tables"].push_back(std::move(one));
  }
  json["notes"] = imported.notes;
}

}  // namespace goodput
