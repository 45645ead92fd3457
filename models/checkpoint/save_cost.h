// What checkpoints and faults cost a run, in time: PEC (arXiv 2408.04307) and MoC-System.
//
//   O_ckpt = O_save * I_total / I_ckpt + sum over faults of (O_restart + O_lost)
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/base/units.h"

namespace goodput {

// How a checkpoint gets to storage, in the order of kSaveModeNames.
enum class SaveMode : std::uint8_t {
  kSync,   // training stands still until it is there
  kAsync,  // to CPU memory behind the next forward and backward pass, from there on beside the training
};
inline constexpr std::string_view kSaveModeNames[] = {"sync", "async"};

// Bandwidths. Ranks write at the same time.
struct SavePath {
  BytesPerSecond snapshot{};       // of a rank to its node's CPU memory
  BytesPerSecond storage{};        // of a rank to storage
  BytesPerSecond storage_total{};  // of all ranks to storage; 0: no limit
};

struct SaveTimes {
  SimDuration snapshot{};  // T_snapshot: GPU to CPU memory
  SimDuration persist{};   // T_persist: CPU memory to storage

  [[nodiscard]] SimDuration total() const { return snapshot + persist; }
};
// What a level writes: the heaviest rank, and all of them together.
struct LevelWrites {
  Bytes peak{};
  double total_bytes = 0;
};
[[nodiscard]] SaveTimes save_times(const LevelWrites& snapshot, const LevelWrites& persist,
                                   const SavePath& path);

// O_save, by which a checkpoint delays training: sync T_snapshot + T_persist; async what of the snapshot does
// not hide behind a forward and backward pass, because the optimizer must not change what is being copied:
// max(0, T_snapshot - T_forward_backward).
[[nodiscard]] SimDuration save_stall(SaveMode mode, const SaveTimes& times, SimDuration forward_backward);

// The shortest interval, in steps, at which writing keeps storage busy for no more than the share `duty` of
// the time: T_persist <= duty * I_ckpt where training goes on meanwhile (kAsync), and
// T_persist <= duty * (I_ckpt + O_save) where it stands still (kSync). At least 1.
// REQUIRES: step > 0, 0 < duty <= 1.
[[nodiscard]] std::int64_t least_interval(SaveMode mode, const SaveTimes& times, SimDuration step,
                                          double duty = 1);

struct SaveTiming {
  SaveTimes times{};
  SimDuration stall{};  // O_save
};

// The shortest interval, in steps, at which a checkpoint that is due always finds one of the three buffers
// (models/checkpoint/buffered_saves.h) free: T_persist <= I_ckpt + O_save. At least 1. REQUIRES: step > 0.
[[nodiscard]] std::int64_t least_buffered_interval(const SaveTiming& timing, SimDuration step);
// Mean number of steps from one checkpoint to the next, in a long run with these buffers, if one is due every
// `interval` steps: storage takes one in T_persist. In sync mode, T_persist is part of the stall.
[[nodiscard]] double mean_interval(const SaveTiming& timing, SimDuration step, std::int64_t interval);

// O_save * I_total / I_ckpt, in seconds.
[[nodiscard]] double saving_seconds(SimDuration stall, std::int64_t steps, double interval);

struct CheckpointOverhead {
  double save_s = 0;
  double restart_s = 0;
  double lost_s = 0;  // steps trained twice

  [[nodiscard]] double total_s() const { return save_s + restart_s + lost_s; }
};

}  // namespace goodput
