#include "tools/calibration/compare_calibrations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr double kMostTolerance = 10;

const Measurement* table_like(const Calibration& calibration, const Measurement& table) {
  const auto found = std::find_if(
      calibration.ops.begin(), calibration.ops.end(),
      [&table](const Measurement& other) { return other.op == table.op && other.params == table.params; });
  return found == calibration.ops.end() ? nullptr : &*found;
}

// Both ascend.
ComparedTable compare_tables(const Measurement& first, const Measurement& second, double tolerance) {
  ComparedTable compared{first};
  double logarithms = 0;
  double farthest = 0;
  auto other = second.points.begin();
  for (const MeasuredPoint& point : first.points) {
    while (other != second.points.end() && other->size() < point.size()) ++other;
    if (other == second.points.end() || other->size() != point.size()) continue;
    ++compared.common;
    const double logarithm = std::log(other->median_us / point.median_us);
    logarithms += logarithm;
    if (std::abs(other->median_us - point.median_us) > tolerance * point.median_us) ++compared.beyond;
    if (std::abs(logarithm) <= farthest && compared.common > 1) continue;
    farthest = std::abs(logarithm);
    compared.farthest = other->median_us / point.median_us;
    compared.farthest_size = point.size();
  }
  compared.only_first = first.points.size() - compared.common;
  compared.only_second = second.points.size() - compared.common;
  if (compared.common > 0)
    compared.geometric_mean = std::exp(logarithms / static_cast<double>(compared.common));
  return compared;
}

}  // namespace

Result<double> parse_ratio_tolerance(std::string_view text) {
  const Error error{fmt::format("must be from 0 % to 1000 % (for example 5%), not {}", in_quotes(text))};
  if (!text.ends_with('%')) return error;
  std::string_view number = text.substr(0, text.size() - 1);
  if (number.ends_with(' ')) number.remove_suffix(1);
  const std::optional<double> percent = parse_number(number);
  if (!percent || !(*percent >= 0 && *percent <= 100 * kMostTolerance)) return error;
  return *percent / 100;
}

std::optional<CalibrationComparison> compare_calibrations(const Calibration& first, const Calibration& second,
                                                          double tolerance) {
  CalibrationComparison comparison;
  comparison.tolerance = tolerance;
  double logarithms = 0;
  for (const Measurement& table : first.ops) {
    const Measurement* other = table_like(second, table);
    if (other == nullptr) {
      comparison.only_first.push_back(&table);
      continue;
    }
    const ComparedTable compared = compare_tables(table, *other, tolerance);
    comparison.common += compared.common;
    comparison.beyond += compared.beyond;
    logarithms += static_cast<double>(compared.common) * std::log(compared.geometric_mean);
    comparison.tables.push_back(compared);
  }
  for (const Measurement& table : second.ops) {
    if (table_like(first, table) == nullptr) comparison.only_second.push_back(&table);
  }
  if (comparison.common == 0) return std::nullopt;
  comparison.geometric_mean = std::exp(logarithms / static_cast<double>(comparison.common));
  return comparison;
}

}  // namespace goodput
