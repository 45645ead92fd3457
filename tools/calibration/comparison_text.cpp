#include <fmt/format.h>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/calibration/compare_calibrations.h"
#include "tools/calibration/table_text.h"
#include "tools/cli/text_table.h"

namespace goodput {
namespace {

std::string ratio_text(double ratio) {
  return fmt::format("{:.4f}", ratio);
}

std::string only_text(const std::vector<const Measurement*>& tables, const std::string& name) {
  if (tables.empty()) return "";
  std::string text = fmt::format("\nOnly in {}\n", on_one_line(name));
  for (const Measurement* table : tables)
    text += fmt::format("  {} ({})\n", table_name(*table), counted(table->points.size(), "point"));
  return text;
}

OrderedJson compared_json(const ComparedTable& compared) {
  MeasuredParams params = compared.table.params;
  OrderedJson written = config::write(config_fields(params));
  OrderedJson json = {{"op", to_string(compared.table.op)},
                      {"params", written.is_null() ? OrderedJson::object() : written}};
  json["common"] = compared.common;
  json["only_first"] = compared.only_first;
  json["only_second"] = compared.only_second;
  json["geometric_mean"] = compared.common > 0 ? OrderedJson(compared.geometric_mean) : OrderedJson(nullptr);
  json["farthest"] = nullptr;
  if (compared.common > 0) {
    const bool has_size = !size_key(compared.table.op).empty();
    json["farthest"] = {{"ratio", compared.farthest},
                        {"size", has_size ? OrderedJson(compared.farthest_size) : OrderedJson(nullptr)}};
  }
  json["beyond"] = compared.beyond;
  return json;
}

OrderedJson only_json(const std::vector<const Measurement*>& tables) {
  OrderedJson json = OrderedJson::array();
  for (const Measurement* table : tables) {
    MeasuredParams params = table->params;
    OrderedJson written = config::write(config_fields(params));
    json.push_back({{"op", to_string(table->op)},
                    {"params", written.is_null() ? OrderedJson::object() : written},
                    {"points", table->points.size()}});
  }
  return json;
}

}  // namespace

std::string comparison_text(const CalibrationComparison& comparison, const ComparedNames& names) {
  const std::string tolerance = fmt::format("{:.6g} %", 100 * comparison.tolerance);
  std::vector<TextRow> rows = {{"time in B / time in A", "common", "mean", "farthest", "at",
                                "beyond " + tolerance, "only in A", "only in B"}};
  for (const ComparedTable& compared : comparison.tables) {
    rows.push_back({table_name(compared.table), fmt::format("{}", compared.common)});
    TextRow& row = rows.back();
    if (compared.common == 0) {
      row.insert(row.end(), {"-", "-", "-", "-"});
    } else {
      row.insert(row.end(), {ratio_text(compared.geometric_mean), ratio_text(compared.farthest),
                             size_text(compared.table.op, static_cast<double>(compared.farthest_size)),
                             fmt::format("{}", compared.beyond)});
    }
    row.push_back(fmt::format("{}", compared.only_first));
    row.push_back(fmt::format("{}", compared.only_second));
  }
  const double share = static_cast<double>(comparison.beyond) / static_cast<double>(comparison.common);
  std::string text = fmt::format(
      "Times in {} (B) are {}x the times in {} (A): geometric mean of {}. Points that differ by more than "
      "{}: {} ({}).\n\n",
      on_one_line(names.second), ratio_text(comparison.geometric_mean), on_one_line(names.first),
      counted(comparison.common, "common point"), tolerance, comparison.beyond, percent_text(share));
  text += aligned(rows) + only_text(comparison.only_first, names.first) +
          only_text(comparison.only_second, names.second);
  return text;
}

void add_comparison_json(const CalibrationComparison& comparison, OrderedJson& json) {
  json["tolerance"] = comparison.tolerance;
  json["common"] = comparison.common;
  json["beyond"] = comparison.beyond;
  json["geometric_mean"] = comparison.geometric_mean;
  json["tables"] = OrderedJson::array();
  for (const ComparedTable& compared : comparison.tables) json["tables"].push_back(compared_json(compared));
  json["only_first"] = only_json(comparison.only_first);
  json["only_second"] = only_json(comparison.only_second);
}

}  // namespace goodput
