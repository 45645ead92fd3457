// A training run with checkpoints and faults: how long saving takes, what all of it costs in time (O_ckpt)
// and in tokens (PLT).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/checkpoint/lost_tokens.h"
#include "models/checkpoint/partial_checkpoint.h"
#include "models/checkpoint/restore_cost.h"
#include "models/checkpoint/save_cost.h"
#include "sim/base/errors.h"

namespace goodput {

// What a checkpoint saves, and who writes it.
struct PartialCheckpoint {
  PecLevels k;
  ExpertSelection selection = ExpertSelection::kSequential;
  Sharding sharding = Sharding::kNone;
  std::int32_t ranks = 1;
};

struct CheckpointedRun {
  std::int64_t interval = 1;  // steps between checkpoints
  std::int64_t steps = 1;     // of the run
  std::vector<CheckpointFault> faults{};
  SimDuration step{};
  SimDuration forward_backward{};  // of a step: what a snapshot can hide behind
  SimDuration restart{};           // from a fault until ranks begin to read the checkpoint
  SaveMode mode = SaveMode::kAsync;
  SavePath path{};
  std::optional<double> dynamic_limit{};  // Dynamic-K, see PecSchedule
};

// How ranks recover from a fault.
struct RunRestore {
  RestoreReads reads{};
  SimDuration time{};
};

struct RunCosts {
  SaveTimes times;                  // before K grows
  SimDuration stall{};              // O_save, likewise
  std::int64_t least_interval = 1;  // at which every checkpoint that is due finds a free buffer
  double mean_interval = 1;         // mean_interval(), likewise
  CheckpointOverhead overhead;      // restarts include restores
  PecLoss loss;
  std::vector<RunRestore> restores{};  // by fault
};

// What ranks write at one level over one rotation; load-aware, over four rotations' worth of checkpoints.
[[nodiscard]] RankWrites partial_rank_writes(const ModuleBytes& modules, const PartialCheckpoint& checkpoint,
                                             PecLevel level, const ExpertTokens& tokens);

// The same for save_times().
[[nodiscard]] LevelWrites level_writes(const ModuleBytes& modules, const PartialCheckpoint& checkpoint,
                                       PecLevel level, const ExpertTokens& tokens);

// The largest K_snapshot whose snapshot hides behind a forward and backward pass, with K_persist 1 (PEC,
// section 4.2); none: even 1 does not, or there is too much to compute. REQUIRES: there are experts.
[[nodiscard]] std::optional<PecLevels> recommended_levels(const ModuleBytes& modules,
                                                          PartialCheckpoint checkpoint,
                                                          const ExpertTokens& tokens,
                                                          const CheckpointedRun& run);

// Fails if a checkpoint or the run takes absurdly long, or if there is too much to compute.
[[nodiscard]] Result<RunCosts> run_costs(const ModuleBytes& modules, const PartialCheckpoint& checkpoint,
                                         const ExpertTokens& tokens, const CheckpointedRun& run);

// Fails when partial_rank_writes() would take minutes.
[[nodiscard]] Status check_rotation(const ModuleBytes& modules, const PartialCheckpoint& checkpoint);

}  // namespace goodput
