// CSVs of GEMM times as tables of a calibration.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sim/base/text.h"
#include "tools/calibration/import_benchmarks.h"
#include "tools/calibration/measured_type_name.h"
#include "tools/calibration/table_text.h"

namespace goodput {
namespace {

Result<MeasuredLayout> layout_of(std::string_view text) {
  constexpr std::pair<std::string_view, MeasuredLayout> kLayouts[] = {
      {"", MeasuredLayout::kForward},
      {"forward", MeasuredLayout::kForward},
      {"fwd", MeasuredLayout::kForward},
      {"fprop", MeasuredLayout::kForward},
      {"dgrad", MeasuredLayout::kInputGradient},
      {"wgrad", MeasuredLayout::kWeightGradient}};
  const auto found = std::find_if(std::begin(kLayouts), std::end(kLayouts),
                                  [&](const auto& one) { return equals_lower(one.first, text); });
  if (found != std::end(kLayouts)) return found->second;
  return Error{
      fmt::format("the layout {} does not say which product of a layer this is; replace the column by one "
                  "named layout that has forward, dgrad or wgrad",
                  in_quotes(text))};
}

}  // namespace

Status BenchmarkTables::add_gemm_row(const GemmCsvRow& row, const std::string& path) {
  MeasuredParams params{.n = row.n, .k = row.k, .dtype = options_.dtype};
  if (!row.dtype.empty() || params.dtype == MeasuredType::kUnstated) {
    const std::optional<MeasuredType> type = measured_type_of(row.dtype);
    if (!type) {
      return Error{
          fmt::format("the type {} is not one that calibrations have ({}); correct or remove the row",
                      in_quotes(row.dtype), fmt::join(kMeasuredTypeNames, ", "))};
    }
    params.dtype = *type;
  }
  GOODPUT_TRY(params.layout, layout_of(row.layout));
  GOODPUT_TRY_STATUS(say_gpu(row.gpu, {.file = path, .position = Position::line(row.line)}));
  GatheredTable& into = table_of(MeasuredOp::kGemm, params);
  add(into, row.m, row.microseconds, row.samples);
  add_source(into, {path, row.line, row.line});
  return Ok{};
}

Status BenchmarkTables::add_gemm_csv(const GemmCsv& csv, const std::string& path) {
  if (!csv.has_dtype && options_.dtype == MeasuredType::kUnstated) {
    return Error{
        "has no column of data types; add one named dtype, or give --dtype, for example --dtype bf16",
        {.file = path, .position = Position::line(csv.header_line)}};
  }
  for (const GemmCsvRow& row : csv.rows) {
    const Status added = add_gemm_row(row, path);
    if (added) continue;
    Error error = added.error();
    if (error.where.empty()) error.where.position = Position::line(row.line);
    return std::move(error).in_file(path);
  }
  if (csv.skipped > 0)
    notes_.push_back(fmt::format("{}: {} without a time {} not used", path, counted(csv.skipped, "row"),
                                 csv.skipped == 1 ? "is" : "are"));
  if (csv.cut_line)
    notes_.push_back(fmt::format("{}:{}: this row is cut off and not used", path, *csv.cut_line));
  return Ok{};
}

}  // namespace goodput
