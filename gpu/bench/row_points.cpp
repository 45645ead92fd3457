#include "gpu/bench/row_points.h"

#include <cstdint>
#include <string>
#include <utility>

#include "gpu/bench/row_case.h"

namespace goodput::gpu::bench {
namespace {

bool has_paths(RowOp op) {
  return op == RowOp::kScatter || op == RowOp::kRegroup || op == RowOp::kUngroup;
}

PointResult run_row_point(const RowPoint& point, const Measurer& measurer) {
  RowCase row_case(point, measurer.stream());
  const Measurement time = measurer.measure(
      {[&](int set, cudaStream_t stream) { row_case.run(set, stream); }, row_case.sets(), row_case.bytes()});
  return {time, row_case.bytes(), row_case.check(measurer.stream())};
}

// Scatter writes many rows for one it reads, sums are the other way round; combine_backward reads about as
// many as it writes.
CopyFlow ceiling_of(RowOp op, std::int64_t top_k) {
  if (top_k == 1) return {1, 1};
  if (op == RowOp::kScatter) return {1, 8};
  return op == RowOp::kCombine || op == RowOp::kScatterBackward ? CopyFlow{8, 1} : CopyFlow{1, 1};
}

// What rows go by in the operation. What the hint of kBulkEvictFirst is worth, scatter shows.
bool takes(RowOp op, CopyPath path, const CopyDevice& device) {
  if (path == CopyPath::kVector) return true;
  return device.has_bulk_copy && has_paths(op) &&
         (path != CopyPath::kBulkEvictFirst || op == RowOp::kScatter);
}

using TokensHidden = std::pair<std::int64_t, std::int64_t>;

std::vector<LayerShape> layers(const std::vector<TokensHidden>& sizes) {
  std::vector<LayerShape> layers;
  for (const auto& [tokens, hidden] : sizes) {
    for (const std::int64_t top_k : {1, 8}) layers.push_back({tokens, hidden, top_k});
  }
  return layers;
}

std::vector<LayerShape> usual_layers(Sizes sizes) {
  if (sizes == Sizes::kQuick) return layers({{16, 256}, {12, 1024}});
  return layers({{4096, 7168}, {16384, 4096}, {65536, 7168}});
}

// Rows of 1, 2 and 4 KiB, 268 MB moved or more: whether the bulk path shall be taken on them is chosen here.
std::vector<LayerShape> short_rows(Sizes sizes) {
  if (sizes == Sizes::kQuick) return layers({{8, 512}});
  return layers({{131072, 512}, {65536, 1024}, {32768, 2048}});
}

// 85 % of the ceiling for scatter, where so much is moved that launching it does not count.
PointGoal goal_of(RowOp op, const LayerShape& layer) {
  constexpr double kScatterShare = 0.85;
  PointGoal goal{ceiling_of(op, layer.top_k), {}, {}};
  if (op == RowOp::kScatter && scatter_bytes(layer) >= kColdBytes) goal.share = kScatterShare;
  return goal;
}

PointTurn turn_of(RowOp op, const PointGoal& goal) {
  if (moves_received(op)) return PointTurn::kRest;
  return goal.share ? PointTurn::kTarget : PointTurn::kLayer;
}

// The operation on the layer, by every path.
void add_points(RowOp op, const LayerShape& layer, PointTurn turn, const ClusterSize& cluster,
                const CopyDevice& device, std::vector<Point>& points) {
  for (const CopyPath path : {CopyPath::kVector, CopyPath::kBulk, CopyPath::kBulkEvictFirst}) {
    if (!takes(op, path, device)) continue;
    const RowPoint point{op, layer, path, cluster};
    points.push_back({{name_of(op), bench::name_of(layer), gpu::name_of(path)},
                      turn,
                      goal_of(op, layer),
                      [point](const Measurer& measurer) { return run_row_point(point, measurer); }});
  }
}

}  // namespace

std::vector<Point> row_points(Sizes sizes, const CopyDevice& device) {
  const ClusterSize cluster = sizes == Sizes::kQuick ? ClusterSize{4, 8, 4} : ClusterSize{8, 64, 16};
  std::vector<Point> points;
  for (const RowOp op : {RowOp::kScatter, RowOp::kScatterBackward, RowOp::kCombine, RowOp::kCombineBackward,
                         RowOp::kRegroup, RowOp::kUngroup}) {
    for (const LayerShape& layer : usual_layers(sizes)) {
      add_points(op, layer, turn_of(op, goal_of(op, layer)), cluster, device, points);
    }
  }
  for (const LayerShape& layer : short_rows(sizes)) {
    add_points(RowOp::kScatter, layer, PointTurn::kShortRows, cluster, device, points);
  }
  return points;
}

}  // namespace goodput::gpu::bench
