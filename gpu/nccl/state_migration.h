// Moves the states of experts (weights, optimizer states) to the ranks where a new placement wants them: what
// models/migration plans, over NCCL. All transfers are one group, so they go as fast as the busiest link lets
// them, and every state comes with a checksum (gpu/checksum.h) that its sender computed.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "gpu/nccl/communicator.h"

namespace goodput::gpu {

// One expert's state, from a rank to another: models/migration's ExpertTransfer, with ranks for nodes.
struct StateTransfer {
  std::int32_t layer;
  std::int32_t expert;
  std::int32_t from;
  std::int32_t to;
  std::int64_t bytes;  // > 0
};

// States that arrived otherwise than they were sent, or ranks that do not agree on what is sent. One line.
class MigrationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where this rank has the state that it sends, or wants the one that it receives: device memory of `bytes`.
using StatePlace = std::function<void*(const StateTransfer& transfer)>;

// `transfers`: of the whole cluster, the same list on every rank, which takes part even if it sends and
// receives nothing. Transfers between the same two ranks keep their order. Returns when what this rank
// receives is in place and was checked. What is on the stream comes first.
//
// Throws std::invalid_argument, before anything is sent, for a transfer with ranks that do not exist, from a
// rank to itself, without bytes, without a place, or into memory that another one reads or writes;
// MigrationError; and as Communicator. After an error nothing of what was to be received may be used.
void migrate_states(Communicator& communicator, const std::vector<StateTransfer>& transfers,
                    const StatePlace& place_of, cudaStream_t stream);

}  // namespace goodput::gpu
