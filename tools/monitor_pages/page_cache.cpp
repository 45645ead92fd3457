#include "tools/monitor_pages/page_cache.h"

#include <algorithm>

namespace goodput {

StepDigest digest_of(const StepResult& result) {
  constexpr std::size_t kMostSuspects = 8;
  StepDigest digest;
  const JobLayout& layout = result.layout;
  digest.totals = result.totals;
  digest.dp_size = layout.dp_size;
  digest.pp_size = layout.pp_size;
  digest.gpus = layout.gpus();
  if (result.totals.worst_worker < layout.workers())
    digest.worst = place_of(layout, result.totals.worst_worker);
  for (const StepCause& cause : result.causes) {
    std::vector<WorkerPlace>& suspects = digest.suspects.emplace_back();
    for (const std::size_t worker : cause.workers) {
      if (suspects.size() < kMostSuspects && worker < layout.workers())
        suspects.push_back(place_of(layout, worker));
    }
    digest.causes.push_back(cause);
    digest.causes.back().workers.clear();
  }
  digest.by_stage = result.by_stage;
  digest.by_optype = result.by_optype;
  return digest;
}

}  // namespace goodput
