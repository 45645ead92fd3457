#include "gpu/bench/row_case.h"

#include <cstdint>
#include <numeric>

#include "gpu/bench/row_check.h"

namespace goodput::gpu::bench {
namespace {

std::int64_t bytes_of(RowOp op, const LayerShape& layer, std::int64_t received) {
  switch (op) {
    case RowOp::kPermute:
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
    case RowOp::kPermute:
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

}  // namespace

const char* name_of(RowOp op) {
  switch (op) {
    case RowOp::kPermute:
      return "permute";
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

bool moves_received(RowOp op) {
  return op == RowOp::kRegroup || op == RowOp::kUngroup;
}

RowCase::RowCase(const RowPoint& point, const Stream& stream)
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

std::int64_t RowCase::bytes() const {
  return bytes_of(op_, rank_.layer(), rank_.rows_received());
}

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
    case RowOp::kPermute:
      return permute(of, stream);
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

// The counts are those that the schedule was made of, so it still holds.
void RowCase::permute(RowSet& of, cudaStream_t stream) {
  Dispatcher& dispatcher = rank_.dispatcher();
  dispatcher.count(rank_.device_routing(), static_cast<std::int32_t>(rank_.layer().tokens), stream);
  dispatcher.place(stream);
  dispatcher.scatter(of.tokens.data(), of.output.data(), stream);
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
    case RowOp::kPermute:
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

}  // namespace goodput::gpu::bench
