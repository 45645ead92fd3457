// An operation on a layer's rows, with its inputs and outputs, ready to be run and to be checked.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/bench/payload.h"
#include "gpu/bench/point.h"
#include "gpu/bench/routed_rank.h"

namespace goodput::gpu::bench {

enum class RowOp {
  kPermute,  // a layer's way to its send buffer: count, place and scatter, by a schedule that is there
  kScatter,
  kScatterBackward,
  kCombine,
  kCombineBackward,
  kRegroup,
  kUngroup
};
[[nodiscard]] const char* name_of(RowOp op);
// It moves rows that were received, not those of tokens.
[[nodiscard]] bool moves_received(RowOp op);

struct RowPoint {
  RowOp op;
  LayerShape layer;
  CopyPath path;  // of permute, scatter, regroup and ungroup; the others have one way
  ClusterSize cluster;
};

// One set of inputs and outputs. `tokens` is by token, `rows` by row of the send or receive buffer; which of
// them the operation reads depends on it.
struct RowSet {
  DeviceBuffer<Bf16> tokens;
  DeviceBuffer<Bf16> rows;
  DeviceBuffer<Bf16> output;
  DeviceBuffer<float> d_weights;
};

class RowCase {
 public:
  RowCase(const RowPoint& point, const Stream& stream);

  // Rows only: of kPermute too.
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] int sets() const { return static_cast<int>(sets_.size()); }

  void run(int set, cudaStream_t stream);
  // Of one more run, into poisoned memory.
  [[nodiscard]] Check check(const Stream& stream);

 private:
  [[nodiscard]] RowSet make_set() const;
  void fill(int set, const Stream& stream);
  void permute(RowSet& of, cudaStream_t stream);
  [[nodiscard]] Check compare(int set) const;

  RowOp op_;
  RoutedRank rank_;
  std::vector<float> weights_;
  DeviceBuffer<float> device_weights_;
  std::vector<RowSet> sets_;
};

}  // namespace goodput::gpu::bench
