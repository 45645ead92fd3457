#include "tools/calibration/calibration_info.h"

#include <algorithm>

namespace goodput {
namespace {

// What the vendor promises, where the file says so.
std::optional<GpuRatings> stated_ratings(const MeasuredMachine& machine) {
  if (!(machine.bf16_tflops > 0 && machine.memory_gb_per_s > 0)) return std::nullopt;
  return GpuRatings{1e12 * machine.bf16_tflops, 1e9 * machine.memory_gb_per_s};
}

std::vector<FittedSegment> fit_of(const Measurement& table) {
  if (size_key(table.op).empty()) return {};
  std::vector<CurvePoint> points;
  for (const MeasuredPoint& point : table.points)
    points.push_back({static_cast<double>(point.size()), point.median_us});
  return fit_alpha_beta(points);
}

}  // namespace

std::optional<double> TableInfo::bus_gb_per_s(const FittedSegment& segment) const {
  if (size_key(table.op) != "bytes" || segment.beta <= 0) return std::nullopt;
  return 1e-3 * bus_factor(table.op, table.params.ranks) / segment.beta;  // a byte a microsecond is 1e-3 GB/s
}

std::vector<TableInfo> table_infos(const Calibration& calibration) {
  const std::optional<GpuRatings> ratings = stated_ratings(calibration.machine);
  std::vector<TableInfo> infos;
  for (const Measurement& table : calibration.ops) {
    const auto unsteady = std::count_if(table.points.begin(), table.points.end(),
                                        [](const MeasuredPoint& point) { return point.is_unsteady; });
    infos.push_back(
        {table, static_cast<std::size_t>(unsteady), fit_of(table), left_out_error(table, ratings)});
  }
  return infos;
}

}  // namespace goodput
