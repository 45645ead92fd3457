#include "tools/calibration/merge_calibrations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "models/cost/calibrated.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/calibration/table_text.h"

namespace goodput {
namespace {

Status check_same_gpu(const MeasuredMachine& first, const MeasuredMachine& second) {
  if (!is_same_gpu(first.gpu, second.gpu))
    return Error{
        fmt::format("is {}, but the first file was measured on {}; only tables of the same GPU can be merged",
                    in_quotes(second.gpu), in_quotes(first.gpu)),
        {.pointer = "/machine/gpu"}};
  const bool are_stated = first.multiprocessors > 0 && second.multiprocessors > 0;
  if (are_stated && first.multiprocessors != second.multiprocessors)
    return Error{fmt::format("is {}, but the GPU of the first file has {} multiprocessors; only tables of "
                             "the same GPU can be merged",
                             second.multiprocessors, first.multiprocessors),
                 {.pointer = "/machine/sm"}};
  return Ok{};
}

Measurement with_source(Measurement table, const std::string& source_of_file) {
  if (table.source.empty()) table.source = source_of_file;
  return table;
}

// Appends those of `second` to which none of `first` is `alike`; returns how many.
template <typename T, typename Alike>
std::size_t append_new(std::vector<T>& first, const std::vector<T>& second, Alike alike) {
  const std::size_t known = first.size();
  for (const T& one : second) {
    const auto end = first.begin() + static_cast<std::ptrdiff_t>(known);
    if (std::none_of(first.begin(), end, [&](const T& other) { return alike(one, other); }))
      first.push_back(one);
  }
  return first.size() - known;
}

std::size_t fill_ceilings(MeasuredCeilings& first, const MeasuredCeilings& second) {
  std::size_t filled = 0;
  const auto fill = [&filled](double& value, double other) {
    if (value > 0 || other <= 0) return;
    value = other;
    ++filled;
  };
  fill(first.copy_1r1w_gb_per_s, second.copy_1r1w_gb_per_s);
  fill(first.copy_1r8w_gb_per_s, second.copy_1r8w_gb_per_s);
  fill(first.gemm_bf16_tflops, second.gemm_bf16_tflops);
  return filled;
}

void add_text(std::string& to, const std::string& more) {
  to += (to.empty() ? "" : "; ") + more;
}

std::string counts_text(const MergedCounts& counts) {
  std::vector<std::string> parts;
  if (counts.tables > 0) parts.push_back(counted(counts.tables, "table"));
  if (counts.checks > 0) parts.push_back(counted(counts.checks, "check"));
  if (counts.assumed > 0) parts.push_back(counted(counts.assumed, "assumed value"));
  if (counts.ceilings > 0) parts.push_back(counted(counts.ceilings, "ceiling"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Who measured the second one, when.
std::string origin_text(const Calibration& calibration) {
  std::vector<std::string> parts = {calibration.machine.gpu};
  if (!calibration.run.utc.empty()) parts.push_back(calibration.run.utc);
  if (!calibration.run.git.empty()) parts.push_back("revision " + calibration.run.git);
  return fmt::format("{}", fmt::join(parts, ", "));
}

void say_where_from(Calibration& merged, const Calibration& second, const MergedCounts& counts,
                    const std::string& name) {
  const std::string what = fmt::format("{} from {}", counts_text(counts), name);
  add_text(merged.source, second.source.empty() ? what : fmt::format("{}: {}", what, second.source));
  if (!second.licence.empty() && second.licence != merged.licence)
    add_text(merged.licence, fmt::format("{}: {}", what, second.licence));
  add_text(merged.method.notes, fmt::format("{} ({})", what, origin_text(second)));
}

std::string dumped(const OrderedJson& json) {
  return json.dump();
}

std::string op_text(OrderedJson op) {
  const OrderedJson points = std::exchange(op["points"], nullptr);
  op.erase("points");
  std::string text = dumped(op);
  text.back() = ',';  // "}"
  text += "\n  \"points\": [";
  for (std::size_t index = 0; index < points.size(); ++index)
    text += (index == 0 ? "\n    " : ",\n    ") + dumped(points[index]);
  return text + "]}";
}

}  // namespace

Result<MergedCalibration> merge_calibrations(const Calibration& first, const Calibration& second,
                                             const std::string& name) {
  GOODPUT_TRY_STATUS(check_same_gpu(first.machine, second.machine));
  MergedCalibration result{first, {}};
  Calibration& merged = result.calibration;
  MergedCounts& counts = result.from_second;
  for (Measurement& table : merged.ops) table = with_source(std::move(table), first.source);
  std::vector<Measurement> tables;
  for (const Measurement& table : second.ops) tables.push_back(with_source(table, second.source));
  counts.tables = append_new(merged.ops, tables, [](const Measurement& one, const Measurement& other) {
    return one.op == other.op && one.params == other.params;
  });
  counts.known = tables.size() - counts.tables;
  const auto is_of_name = [](const auto& one, const auto& other) { return one.name == other.name; };
  counts.checks = append_new(merged.checks, second.checks, is_of_name);
  counts.assumed = append_new(merged.assumed, second.assumed, is_of_name);
  counts.ceilings = fill_ceilings(merged.ceilings, second.ceilings);
  if (counts.is_any()) say_where_from(merged, second, counts, name);
  return result;
}

std::string calibration_file_text(const Calibration& calibration) {
  Calibration copy = calibration;
  OrderedJson json = config::write(config_fields(copy));
  if (!json.contains("ops")) json["ops"] = OrderedJson::array();
  std::string text = "{";
  for (const auto& [key, value] : json.items()) {
    text += fmt::format("{}\"{}\": ", text.size() == 1 ? "\n" : ",\n", key);
    if (key != "ops") {
      text += dumped(value);
      continue;
    }
    text += '[';
    for (std::size_t index = 0; index < value.size(); ++index)
      text += (index == 0 ? "\n" : ",\n") + op_text(value[index]);
    text += ']';
  }
  return text + "\n}\n";
}

}  // namespace goodput
