// What partial experts checkpoints cost in accuracy: the proportion of lost tokens (PLT), after PEC
// (arXiv 2408.04307) and MoC-System.
//
// At a fault every rank goes back to one checkpoint. An expert that this checkpoint left out comes back as an
// older one saved it, and what it learned from the tokens in between is lost:
//
//   PLT = tokens lost, over faults and MoE layers / (steps * tokens * top_k), over MoE layers
//
// Two levels: a checkpoint copies K_snapshot experts of every layer to CPU memory and K_persist of them in
// memory to storage. Ranks that live on recover from their own memory, a failed one from storage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/checkpoint/expert_copies.h"
#include "models/checkpoint/partial_checkpoint.h"

namespace goodput {

// After `step` steps were done. Without `rank` all ranks lose their memory.
struct CheckpointFault {
  std::int64_t step = 0;
  std::optional<std::int32_t> rank{};
};

// tokens * top_k of every MoE layer, spread over experts as 1/rank^skew in an order drawn for each layer;
// whole numbers by largest remainder. skew 0: evenly.
[[nodiscard]] ExpertTokens expert_tokens(const CheckpointModel& model, std::int64_t tokens, double skew,
                                         std::uint64_t seed);

// Load-aware selection without faults, tokens coming in evenly between checkpoints: for rank_writes().
[[nodiscard]] CheckpointSeries load_aware_series(ExpertTokens tokens, std::int32_t k, std::int32_t ranks);

struct PecSchedule {
  PecLevels k;
  ExpertSelection selection = ExpertSelection::kSequential;
  std::int32_t ranks = 1;
  std::int64_t interval = 1;  // steps between checkpoints; the state before the first step counts as one
  std::int64_t steps = 1;     // of the whole run
  // Steps after its own until a checkpoint can be recovered from; none: at once.
  std::function<std::int64_t(const PecLevels&)> persist_lag{};
  // Dynamic-K: when after a recovery the PLT since K last changed is above this, both K double, up to all.
  std::optional<double> dynamic_limit{};
};

struct FaultLoss {
  CheckpointFault fault;
  std::int64_t recovered_step = 0;
  double tokens_lost = 0;  // by experts; steps that are trained again lose nothing
  PecLevels k_after;       // from here on
};

struct PecLoss {
  double plt = 0;
  std::vector<FaultLoss> faults;
};

// REQUIRES: 1 <= k.persist <= k.snapshot <= experts, where there are experts; faults ascending by step, none
// after the last. Takes time with the checkpoints before the last fault, times experts.
[[nodiscard]] PecLoss replay_losses(const ExpertTokens& tokens, const PecSchedule& schedule,
                                    const std::vector<CheckpointFault>& faults);

}  // namespace goodput
