#include "models/checkpoint/restore_cost.h"

#include <algorithm>

#include "sim/base/index.h"

namespace goodput {

RestoreReads restore_reads(const ModuleBytes& modules, const FailedRanks& failed, std::int32_t ranks) {
  std::vector<std::int32_t> experts(index(ranks), 0);  // by rank
  for (std::int32_t expert = 0; expert < modules.experts; ++expert)
    ++experts[index(expert_owner(expert, modules.experts, ranks))];
  const Bytes shared = modules.dense_total();
  const Bytes share{(shared.value + ranks - 1) / ranks};
  const Bytes each = modules.one_expert();
  const bool has_failed = !failed || !failed->empty();
  RestoreReads reads;
  if (has_failed) reads.storage = shared;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const Bytes own = experts[index(rank)] * each;
    const bool is_failed = !failed || std::binary_search(failed->begin(), failed->end(), rank);
    if (is_failed) {
      reads.storage = reads.storage + own;
      reads.storage_of_rank = std::max(reads.storage_of_rank, share + own);
    } else {
      reads.memory_of_rank = std::max(reads.memory_of_rank, has_failed ? own : share + own);
    }
  }
  if (has_failed) reads.storage_of_rank = std::max(reads.storage_of_rank, share);
  return reads;
}

SimDuration restore_time(const RestoreReads& reads, const SavePath& path) {
  SimDuration storage = reads.storage_of_rank / path.storage;
  if (path.storage_total.value > 0) storage = std::max(storage, reads.storage / path.storage_total);
  return std::max(storage, reads.memory_of_rank / path.snapshot);
}

}  // namespace goodput
