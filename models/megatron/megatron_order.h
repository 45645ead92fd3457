// The order in which the stages of a Megatron job issue their ops in one step: all that the dependency rules
// (models/megatron/megatron_rules.h) need to know. A recorded trace gives it by its times, a plan by its
// schedule.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/trace_index.h"

namespace goodput::megatron {

// Index of an op in TemplateLane::ops.
using OpIndex = std::uint32_t;

enum class Direction : std::uint8_t { kForward, kBackward };

// One type of pipeline communication: what it is called and whom it talks to.
struct P2pKind {
  OpType type;
  OpType compute;  // the passes it serves
  OpType peer;     // the type at the other end
  bool is_recv;
  int chunk_step;  // from the compute's global chunk to the peer's: +1 downstream, -1 upstream
};
inline constexpr std::array<P2pKind, 4> kP2pKinds = {{
    {OpType::kForwardRecv, OpType::kForwardCompute, OpType::kForwardSend, true, -1},
    {OpType::kForwardSend, OpType::kForwardCompute, OpType::kForwardRecv, false, +1},
    {OpType::kBackwardRecv, OpType::kBackwardCompute, OpType::kBackwardSend, true, +1},
    {OpType::kBackwardSend, OpType::kBackwardCompute, OpType::kBackwardRecv, false, -1},
}};

struct P2pOp {
  OpIndex op = 0;
  std::optional<OpIndex> compute;  // the pass it delivers to or takes from; none: recorded, never launched
  std::optional<OpIndex> previous_compute;  // receives: the pass of this direction before that one
  std::optional<std::int32_t> peer_stage;   // none: a no-op of either kind
};

// The ops of one kind of a stage; each follows the one before it. Recorded jobs have one stream per kind,
// bidirectional and V-shaped schedules one per kind and direction.
struct P2pStream {
  std::size_t kind = 0;  // position in kP2pKinds
  std::vector<P2pOp> ops;
};

struct StageOrder {
  std::vector<OpIndex> compute;  // passes of all kinds
  std::vector<P2pStream> p2p;
  // (pass that must wait, pass it waits for): the next position of the pipeline is on the same stage, so that
  // activations and gradients go from one to the other without a message.
  std::vector<std::pair<OpIndex, OpIndex>> hand_overs;
  std::vector<OpIndex> dp;               // params-all-gather and grads-reduce-scatter
  std::vector<OpIndex> reduce_scatters;  // by seq_id
  OpIndex last_compute = 0;              // the pass that ends last
  std::optional<OpIndex> gc;             // none: this job does not record it; the same for the next two
  std::optional<OpIndex> layernorm;
  std::optional<OpIndex> clip;
  OpIndex optimizer = 0;
  std::optional<OpIndex> embedding;            // first and last stage
  std::optional<OpIndex> separate_all_reduce;  // where the reduction of gradients overlaps
  // (op that must wait, op it waits for): first forward of a chunk after its last params-all-gather.
  std::vector<std::pair<OpIndex, OpIndex>> params_gates;
  // First grads-reduce-scatter of a chunk after its last backward; used only when the reduction overlaps.
  std::vector<std::pair<OpIndex, OpIndex>> gradient_gates;
};

// Reads the order off the recorded times of the template lane. Fails on what the rules do not cover, naming
// the ops.
Result<std::vector<StageOrder>> order_from_recording(const TemplateLane& lane);

}  // namespace goodput::megatron
