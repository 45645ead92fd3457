#include "gpu/bench/row_points.h"

#include <numeric>
#include <string>
#include <utility>

#include "gpu/bench/payload.h"
#include "gpu/bench/routed_rank.h"
#include "gpu/bench/row_check.h"

namespace goodput::gpu::bench {
namespace {

enum class RowOp { kScatter, kScatterBackward, kCombine, kCombineBackward, kRegroup, kUngroup };

struct RowPoint {
  RowOp op;
  LayerShape layer;
  CopyPath path;  // of scatter, regroup and ungroup; the others have one way
  ClusterSize cluster;
};

const char* name_of(RowOp op) {
  switch (op) {
    case RowOp::kScatter:
      return "scatter";
    case RowOp::kScatterBackward:
      return "scatter_backward";
    case RowOp::kCombine:
      return "combine";
    case RowOp::kCombineBackward:
      return "combine_backward";
    case RowOp::kRegroup:
      return "regroup";
    case RowOp::kUngroup:
      return "ungroup";
  }
  return "";
}

bool has_paths(RowOp op) {
  return op == RowOp::kScatter || op == RowOp::kRegroup || op == RowOp::kUngroup;
}

bool moves_received(RowOp op) {
  return op == RowOp::kRegroup || op == RowOp::kUngroup;
}

std::int64_t bytes_of(RowOp op, const LayerShape& layer, std::int64_t received) {
  switch (op) {
    case RowOp::kScatter:
      return scatter_bytes(layer);
    case RowOp::kScatterBackward:
      return scatter_backward_bytes(layer);
    case RowOp::kCombine:
      return combine_bytes(layer);
    case RowOp::kCombineBackward:
      return combine_backward_bytes(layer);
    case RowOp::kRegroup:
    case RowOp::kUngroup:
      return regroup_bytes(received, layer.row_bytes());
  }
  return 0;
}

// One set of inputs and outputs. `tokens` is by token, `rows` by row of the send or receive buffer; which of
// them the operation reads is in needs_of().
struct RowSet {
  DeviceBuffer<Bf16> tokens;
  DeviceBuffer<Bf16> rows;
  DeviceBuffer<Bf16> output;
  DeviceBuffer<float> d_weights;
};

std::uint64_t token_seed(int set) {
  return 2 * static_cast<std::uint64_t>(set) + 100;
}
std::uint64_t row_seed(int set) {
  return token_seed(set) + 1;
}

// Rows of every part of a set.
struct RowNeeds {
  std::int64_t tokens;
  std::int64_t rows;
  std::int64_t output;
  std::int64_t d_weights;  // numbers
};

RowNeeds needs_of(RowOp op, const LayerShape& layer, std::int64_t received) {
  const std::int64_t slots = layer.slots();
  switch (op) {
    case RowOp::kScatter:
      return {layer.tokens, 0, slots, 0};
    case RowOp::kScatterBackward:
    case RowOp::kCombine:
      return {0, slots, layer.tokens, 0};
    case RowOp::kCombineBackward:
      return {layer.tokens, slots, slots, slots};
    case RowOp::kRegroup:
    case RowOp::kUngroup:
      return {0, received, received, 0};
  }
  return {};
}

std::vector<float> draw_weights(std::int64_t slots) {
  std::vector<float> weights;
  for (std::int64_t slot = 0; slot < slots; ++slot) weights.push_back(to_float(payload(1, slot)) / 8);
  return weights;
}

class RowCase {
 public:
  RowCase(const RowPoint& point, const Stream& stream)
      : op_(point.op),
        rank_(point.cluster, point.layer, moe::DispatchPolicy::kProportional, point.path, stream),
        weights_(draw_weights(point.layer.slots())),
        device_weights_(upload(weights_)) {
    const int sets = sets_for(bytes());
    for (int set = 0; set < sets; ++set) sets_.push_back(make_set());
    // Makes the map that ungroup needs, and lets regroup allocate what it does.
    if (moves_received(op_)) {
      rank_.dispatcher().regroup(sets_[0].rows.data(), sets_[0].output.data(), rank_.rows_received(),
                                 stream.get());
    }
    for (int set = 0; set < sets; ++set) fill(set, stream);
    stream.synchronize();
  }

  [[nodiscard]] std::int64_t bytes() const { return bytes_of(op_, rank_.layer(), rank_.rows_received()); }
  [[nodiscard]] int sets() const { return static_cast<int>(sets_.size()); }

  void run(int set, cudaStream_t stream);
  // Of one more run, into poisoned memory.
  [[nodiscard]] Check check(const Stream& stream);

 private:
  [[nodiscard]] RowSet make_set() const;
  void fill(int set, const Stream& stream);
  [[nodiscard]] Check compare(int set) const;

  RowOp op_;
  RoutedRank rank_;
  std::vector<float> weights_;
  DeviceBuffer<float> device_weights_;
  std::vector<RowSet> sets_;
};

RowSet RowCase::make_set() const {
  const RowNeeds needs = needs_of(op_, rank_.layer(), rank_.rows_received());
  const auto buffer = [&](std::int64_t rows) {
    return DeviceBuffer<Bf16>(static_cast<std::size_t>(rows * rank_.layer().hidden));
  };
  return {buffer(needs.tokens), buffer(needs.rows), buffer(needs.output),
          DeviceBuffer<float>(static_cast<std::size_t>(needs.d_weights))};
}

void RowCase::fill(int set, const Stream& stream) {
  RowSet& of = sets_[static_cast<std::size_t>(set)];
  fill_payload(of.tokens.data(), static_cast<std::int64_t>(of.tokens.size()), token_seed(set), stream.get());
  fill_payload(of.rows.data(), static_cast<std::int64_t>(of.rows.size()), row_seed(set), stream.get());
}

void RowCase::run(int set, cudaStream_t stream) {
  RowSet& of = sets_[static_cast<std::size_t>(set)];
  Dispatcher& dispatcher = rank_.dispatcher();
  switch (op_) {
    case RowOp::kScatter:
      return dispatcher.scatter(of.tokens.data(), of.output.data(), stream);
    case RowOp::kScatterBackward:
      return dispatcher.scatter_backward(of.rows.data(), of.output.data(), stream);
    case RowOp::kCombine:
      return dispatcher.combine(of.rows.data(), device_weights_.data(), of.output.data(), stream);
    case RowOp::kCombineBackward:
      return dispatcher.combine_backward(of.tokens.data(), of.rows.data(), device_weights_.data(),
                                         of.output.data(), of.d_weights.data(), stream);
    case RowOp::kRegroup:
      return dispatcher.regroup(of.rows.data(), of.output.data(), rank_.rows_received(), stream);
    case RowOp::kUngroup:
      return dispatcher.ungroup(of.rows.data(), of.output.data(), rank_.rows_received(), stream);
  }
}

Check RowCase::check(const Stream& stream) {
  const int set = sets() - 1;
  RowSet& of = sets_.back();
  GOODPUT_CUDA(cudaMemsetAsync(of.output.data(), kPoisonByte, of.output.size() * sizeof(Bf16), stream.get()));
  if (of.d_weights.size() != 0) {
    GOODPUT_CUDA(
        cudaMemsetAsync(of.d_weights.data(), kPoisonByte, of.d_weights.size() * sizeof(float), stream.get()));
  }
  run(set, stream.get());
  stream.synchronize();
  return compare(set);
}

Check RowCase::compare(int set) const {
  const RowSet& of = sets_[static_cast<std::size_t>(set)];
  if (moves_received(op_)) {
    const std::vector<std::int32_t> grouped = reference::regroup_rows(rank_.layout());
    std::vector<std::int32_t> received(grouped.size());
    std::iota(received.begin(), received.end(), 0);
    const bool back = op_ == RowOp::kUngroup;
    return check_moved_rows(back ? grouped : received, back ? received : grouped, rank_.layer().hidden,
                            row_seed(set), of.output.data());
  }
  const std::vector<std::int32_t> positions = rank_.compute_positions();
  const TokenOperands operands{rank_.layer(), positions,        token_seed(set),    row_seed(set),
                               weights_,      of.output.data(), of.d_weights.data()};
  switch (op_) {
    case RowOp::kScatter:
      return check_scatter(operands);
    case RowOp::kScatterBackward:
      return check_scatter_backward(operands);
    case RowOp::kCombine:
      return check_combine(operands);
    default:
      return check_combine_backward(operands);
  }
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
