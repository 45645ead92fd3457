// What partial experts checkpoints cost in accuracy: the proportion of lost tokens (PLT), after PEC
// (arXiv 2408.04307) and MoC-System.
//
// At a fault every rank goes back to one checkpoint. An expert that this checkpoint left out comes back as an
// older one saved it, and what it learned from the tokens in between is lost:
//
//   PLT = tokens lost, over faults and MoE layers / (steps * tokens * top_k), over MoE layers
//
// Two levels: a checkpoint copies K_snapshot experts of every layer to CPU memory and K_persist of these to
// storage. Ranks that live on recover from their own memory, failed ones from storage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/checkpoint/expert_copies.h"
#include "models/checkpoint/partial_checkpoint.h"
#include "models/checkpoint/save_cost.h"

namespace goodput {

// After `step` steps were done.
struct CheckpointFault {
  std::int64_t step = 0;
  FailedRanks ranks{};
};

// Lost tokens below which PEC's paper finds the quality of models unchanged (section 3.1, Figure 2).
inline constexpr double kHarmlessPlt = 0.075;
// What to say of more, and of more than Dynamic-K's limit; empty: nothing.
[[nodiscard]] std::string plt_warning(double plt);

// tokens * top_k of every MoE layer, spread over experts as 1/rank^skew in an order drawn for each layer;
// whole numbers by largest remainder. skew 0: evenly.
[[nodiscard]] ExpertTokens expert_tokens(const CheckpointModel& model, std::int64_t tokens, double skew,
                                         std::uint64_t seed);

// Load-aware selection without faults, tokens coming in evenly between checkpoints: for rank_writes().
[[nodiscard]] CheckpointSeries load_aware_series(const ExpertTokens& tokens, const PecLevels& k,
                                                 PecLevel level, std::int32_t ranks);

// How long a checkpoint takes with such levels.
using SaveTimings = std::function<SaveTiming(const PecLevels&)>;

struct PecSchedule {
  PecLevels k;
  ExpertSelection selection = ExpertSelection::kSequential;
  std::int32_t ranks = 1;
  std::int64_t interval = 1;  // steps between checkpoints; the state before the first step counts as one
  std::int64_t steps = 1;     // of the whole run
  SimDuration step{1};        // > 0
  SaveTimings timing{};       // none: checkpoints are in storage at once
  std::optional<double> dynamic_limit{};  // of PLT, with Dynamic-K (raised_levels())
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
