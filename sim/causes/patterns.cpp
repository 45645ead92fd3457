#include "sim/causes/patterns.h"

#include <utility>

namespace goodput {

Patterns find_patterns(const AnalysedJob& job) {
  std::vector<PassPair> pairs = pair_passes(job.recording);
  std::vector<Pause> pauses = find_pauses(job.recording, pairs);
  PassPace pace = measure_pace(job.recording, pauses);
  std::optional<MicroBatchWork> work = measure_micro_batches(job.recording, pairs, pauses, pace);
  LinkPace links = find_slow_links(job.graph, job.recording);
  std::optional<SlowTransfers> transfers = find_slow_transfers(job.graph, job.recording, links);
  return {std::move(pairs), std::move(pauses), std::move(pace),
          std::move(work),  std::move(links),  std::move(transfers)};
}

}  // namespace goodput
