// Partial experts checkpoints: which experts a checkpoint saves, and which rank writes what.
//
// PEC (arXiv 2408.04307) saves K experts of every MoE layer and all other modules; MoC-System, its
// successor, shards them over ranks: EDPS and ADPS below. Modules are never split. MoE layers, experts and
// ranks count from 0.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/shape/expert_tokens.h"
#include "sim/base/units.h"

namespace goodput {

// Ids of the experts that a checkpoint saves, by MoE layer.
using SavedExperts = std::vector<std::vector<std::int32_t>>;

// How experts take turns, in the order of kExpertSelectionNames.
enum class ExpertSelection : std::uint8_t {
  kSequential,  // round robin, each layer one expert ahead of the one before
  kLoadAware,   // those with the most tokens that no checkpoint holds
};
inline constexpr std::string_view kExpertSelectionNames[] = {"sequential", "load-aware"};

// The two levels of a checkpoint, in experts of every MoE layer: it copies `snapshot` of them to CPU memory
// and writes `persist` of these to storage. 0 of a model that has none.
struct PecLevels {
  std::int32_t snapshot = 1;
  std::int32_t persist = 1;  // at most `snapshot`

  friend bool operator==(const PecLevels&, const PecLevels&) = default;
};
enum class PecLevel : std::uint8_t { kSnapshot, kPersist };
// What a checkpoint saves at each level; what it persists is part of its snapshot.
struct SavedLevels {
  SavedExperts snapshot;
  SavedExperts persist;

  [[nodiscard]] SavedExperts& at(PecLevel level) { return level == PecLevel::kSnapshot ? snapshot : persist; }
};

// The rank that holds and writes an expert: floor(expert * ranks / experts). With more ranks than experts
// some hold none.
[[nodiscard]] std::int32_t expert_owner(std::int32_t expert, std::int32_t experts, std::int32_t ranks);

// Checkpoint number j persists the experts (j*K + layer + 0..K-1) mod experts of each layer, K = k.persist;
// this is the first of them. REQUIRES: 0 <= K <= experts, experts > 0, checkpoint >= 0.
[[nodiscard]] std::int32_t first_sequential(std::size_t layer, std::int32_t experts, std::int32_t persist,
                                            std::int64_t checkpoint);
// How far the experts of a snapshot are from the first one, around the ring of experts: those that are
// persisted, 0..K-1, come first; then follow more blocks of K, spaced evenly, so that copies in memory are
// equally old. REQUIRES: 0 <= k.persist <= k.snapshot <= experts.
[[nodiscard]] std::vector<std::int32_t> snapshot_offsets(std::int32_t experts, const PecLevels& k);
// All experts of a snapshot; {K, K}: those that are persisted. REQUIRES: as above, checkpoint >= 0.
[[nodiscard]] SavedExperts select_sequential(std::size_t layers, std::int32_t experts, const PecLevels& k,
                                             std::int64_t checkpoint);
// After so many checkpoints the same experts are saved again: experts / gcd(experts, persist); 1 without
// experts.
[[nodiscard]] std::int32_t rotation_length(std::int32_t experts, std::int32_t persist);

// Experts that a rank saves at most: ceil(layers * k / ranks that hold experts).
[[nodiscard]] std::int64_t load_aware_capacity(std::size_t layers, std::int32_t experts, std::int32_t k,
                                               std::int32_t ranks);
// From the last layer to the first: the k experts with most unsaved tokens (of equals the lower id) whose
// rank still has capacity. A layer may save fewer than k, where the ranks with capacity hold no more of its
// experts; k = experts saves all. Experts with fewer than 0 are not saved.
[[nodiscard]] SavedExperts select_load_aware(const ExpertTokens& unsaved, std::int32_t k, std::int32_t ranks);

// Who writes the modules that all ranks hold, in the order of kShardingNames. Every expert is written by its
// owner.
enum class Sharding : std::uint8_t {
  kNone,  // every rank, all of them
  kEdps,  // equally sharded: dealt out once, largest first, each to the rank with fewest bytes of them
  kAdps,  // adaptive: dealt out for every checkpoint, on top of the experts that it saves
};
inline constexpr std::string_view kShardingNames[] = {"none", "edps", "adps"};

struct CheckpointShards {
  std::vector<std::int32_t> writer;  // of every non-expert module; empty with kNone
  std::vector<Bytes> written;        // by rank
};
// REQUIRES: ranks >= 1. Equally large modules keep the table's order, of equally loaded ranks the lowest
// wins.
[[nodiscard]] CheckpointShards shard_checkpoint(const ModuleBytes& modules, const SavedExperts& saved,
                                                Sharding sharding, std::int32_t ranks);

// What ranks write, over a series of checkpoints.
struct RankWrites {
  Bytes peak{};           // of one rank at one checkpoint
  double mean_bytes = 0;  // over ranks and checkpoints
};
// Asked for checkpoints 0, 1, ... in this order.
using CheckpointSeries = std::function<SavedExperts(std::int64_t checkpoint)>;
// REQUIRES: checkpoints >= 1.
[[nodiscard]] RankWrites rank_writes(const ModuleBytes& modules, const CheckpointSeries& series,
                                     std::int64_t checkpoints, Sharding sharding, std::int32_t ranks);
// One rotation of sequential selection; of snapshots. {K, K}: of what is persisted.
[[nodiscard]] RankWrites rotation_writes(const ModuleBytes& modules, const PecLevels& k, Sharding sharding,
                                         std::int32_t ranks);
// Without partial checkpoints and shards: every rank writes all modules it holds.
[[nodiscard]] RankWrites full_rank_writes(const ModuleBytes& modules, std::int32_t ranks);

// Share of a full checkpoint, every module once, that k experts a layer leave out.
[[nodiscard]] double non_redundant_saving(const ModuleBytes& modules, std::int32_t k);
// Share of what a rank writes in full that it saves: of the heaviest rank with shards; without, where experts
// take turns on every rank alike, of the mean (the figure of PEC's paper).
[[nodiscard]] double per_rank_saving(const RankWrites& partial, const RankWrites& full, Sharding sharding);

}  // namespace goodput
