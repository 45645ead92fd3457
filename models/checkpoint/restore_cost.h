// What ranks read to recover from a partial checkpoint, and from where (PEC, section 3.2): a failed rank its
// experts from storage, the others theirs from CPU memory. State that all ranks hold comes from storage if
// any rank failed.
//
// Assumed: each byte is read from storage once, and passed on over the network at no cost. (In the paper's
// Figure 4, survivors also have their own shards of the shared state in memory.) Experts stay with their
// ranks; if the number of ranks changes, moving them costs nothing.
#pragma once

#include "models/checkpoint/checkpoint_modules.h"
#include "models/checkpoint/expert_copies.h"
#include "models/checkpoint/save_cost.h"

namespace goodput {

struct RestoreReads {
  Bytes storage{};          // of all ranks
  Bytes storage_of_rank{};  // of the one that reads most
  Bytes memory_of_rank{};   // likewise
};
// If all ranks failed, `storage` is a whole checkpoint. REQUIRES: ranks >= 1.
[[nodiscard]] RestoreReads restore_reads(const ModuleBytes& modules, const FailedRanks& failed,
                                         std::int32_t ranks);

// Both at the same time, and storage reads as fast as it writes.
[[nodiscard]] SimDuration restore_time(const RestoreReads& reads, const SavePath& path);

}  // namespace goodput
