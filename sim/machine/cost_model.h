// What the parts of an operation cost on a machine: kernels on a GPU, collectives between GPUs.
//
// A cost model answers for one GPU at a time and knows nothing of graphs; times are rounded to nanoseconds by
// who builds one (models/step/step_costs.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/base/tier.h"
#include "sim/base/units.h"
#include "sim/machine/precision.h"

namespace goodput {

// Work one GPU does in one go, as a training framework launches it.
struct Kernel {
  enum class Kind : std::uint8_t {
    kGemm,       // `batch` products of m x k by k x n matrices
    kAttention,  // fused softmax(Q K') V: `flops` multiply-adds count 2, nothing but inputs and outputs in
                 // memory
    kMemory,     // moves `bytes`, computes next to nothing: norms, activations, optimizer
  };
  Kind kind = Kind::kMemory;
  Precision precision = Precision::kBf16;
  std::int64_t batch = 1;
  std::int64_t m = 0, n = 0, k = 0;  // kAttention: k keys per query, 0 if unknown
  bool is_grouped = false;           // kGemm: the products have unequal m, and m is their mean
  double flops = 0;                  // kAttention
  double bytes = 0;                  // read and written, all kinds
  std::int32_t launches = 1;         // GPU kernels it stands for

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSendRecv,  // one message from one GPU to another
};

// Which GPUs take part. Groups of one kind run side by side: all GPUs of a node belong to some group, and the
// node's NICs are shared by the groups that cross nodes.
struct GpuGroup {
  std::int32_t size = 1;      // GPUs
  std::int32_t per_node = 1;  // of them in one node; size: all
  [[nodiscard]] std::int32_t nodes() const { return (size + per_node - 1) / per_node; }
  friend bool operator==(const GpuGroup&, const GpuGroup&) = default;
};

struct CollectiveCall {
  Collective kind = Collective::kAllReduce;
  // Of the whole buffer on one GPU: the vector that is reduced, the gathered result, what is scattered, all
  // that a GPU sends in an all-to-all (its own share included), the message.
  double bytes = 0;
  GpuGroup group;
  // All-to-all with unequal counts: the most any GPU sends or receives, over the mean. 1: balanced.
  double imbalance = 1;
  // All-to-all that does not send every peer as much: bytes that a GPU sends to GPUs of its node and to other
  // nodes.
  struct LinkBytes {
    double inside = 0;
    double between = 0;

    friend bool operator==(const LinkBytes&, const LinkBytes&) = default;
  };
  std::optional<LinkBytes> by_link{};

  friend bool operator==(const CollectiveCall&, const CollectiveCall&) = default;
};

struct Cost {
  double seconds = 0;
  Tier tier = Tier::kModel;  // the lowest it rests on

  friend Cost operator+(Cost a, Cost b) { return {a.seconds + b.seconds, lowest(a.tier, b.tier)}; }
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  // Kernels launched one after the other on one stream of one GPU, by one CPU thread.
  [[nodiscard]] virtual Cost kernels(std::span<const Kernel> sequence) const = 0;

  // The kernels with which a GPU computes from the counts of all ranks how the tokens of a layer are
  // dispatched, in proportion to the hosts' free places (models/dispatch/dispatch.h). None: not known.
  [[nodiscard]] virtual std::optional<Cost> dispatch_schedule(std::int32_t /*ranks*/,
                                                              std::int32_t /*experts*/) const {
    return std::nullopt;
  }

  // From the moment the last participant has started. 0 for a group of one.
  [[nodiscard]] virtual Cost collective(const CollectiveCall& call) const = 0;
};

}  // namespace goodput
