#include "gpu/calibrate/collective_prediction.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>

namespace goodput::gpu::calibrate {
namespace {

constexpr std::int32_t kFew = 2;
constexpr std::int32_t kMore = 4;
constexpr std::int32_t kPredicted = 8;

using TimesBySize = std::map<std::int64_t, double>;

// Of one node, median us.
TimesBySize times_of(CollectiveOp op, std::int32_t ranks, const MeasuredPoints& points) {
  TimesBySize times;
  const TableKey table = key_of({op, {ranks, {}}, 0}).table;
  for (const VisitRecord* const record : points.points()) {
    if (!(record->key.table == table)) continue;
    const Visit visit = points.summary(record->key).visit;
    if (visit.nwrong.value_or(0) == 0) times[record->key.size] = visit.us.median;
  }
  return times;
}

double start_of(const TimesBySize& times) {
  return times.begin()->second;
}

void predict(CollectiveOp op, const MeasuredPoints& points, std::vector<PredictedCollective>& all) {
  const TimesBySize few = times_of(op, kFew, points);
  const TimesBySize more = times_of(op, kMore, points);
  const TimesBySize measured = times_of(op, kPredicted, points);
  if (few.empty() || more.empty()) return;
  const double a_peer = (start_of(more) - start_of(few)) / (kMore - kFew);
  const double start = start_of(more) + a_peer * (kPredicted - kMore);
  const double stretch = bus_factor(op, kPredicted) / bus_factor(op, kMore);
  for (const auto& [bytes, us] : measured) {
    const auto known = more.find(bytes);
    if (known == more.end()) continue;
    all.push_back({op, bytes, start + stretch * (known->second - start_of(more)), us});
  }
}

std::string bytes_text(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; unit < 3 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return std::to_string(bytes) + " " + kUnits[unit];
}

}  // namespace

std::vector<PredictedCollective> predicted_collectives(const MeasuredPoints& points) {
  std::vector<PredictedCollective> all;
  for (const CollectiveOp op : kCollectiveOps) predict(op, points, all);
  return all;
}

std::vector<std::string> collective_predictions(const MeasuredPoints& points) {
  const std::vector<PredictedCollective> all = predicted_collectives(points);
  std::vector<std::string> lines;
  for (const CollectiveOp op : kCollectiveOps) {
    int count = 0;
    double sum = 0;
    const PredictedCollective* worst = nullptr;
    for (const PredictedCollective& one : all) {
      if (one.op != op) continue;
      ++count;
      sum += std::abs(one.error());
      if (worst == nullptr || std::abs(one.error()) > std::abs(worst->error())) worst = &one;
    }
    if (worst == nullptr) continue;
    char text[200];
    std::snprintf(
        text, sizeof text,
        "%s: prediction for %d ranks from %d and %d: %.1f %% off on average, %+.1f %% at worst (%s)",
        name_of(op), kPredicted, kFew, kMore, 100 * sum / count, 100 * worst->error(),
        bytes_text(worst->bytes).c_str());
    lines.emplace_back(text);
  }
  return lines;
}

}  // namespace goodput::gpu::calibrate
