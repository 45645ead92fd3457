// The patterns in a recording that point at causes, computed once for all of their users.
#pragma once

#include <optional>
#include <vector>

#include "sim/causes/micro_batches.h"
#include "sim/causes/pace.h"
#include "sim/causes/passes.h"
#include "sim/causes/remedy.h"
#include "sim/causes/slow_links.h"
#include "sim/causes/slow_transfers.h"

namespace goodput {

struct Patterns {
  std::vector<PassPair> pairs;
  std::vector<Pause> pauses;
  PassPace pace;
  std::optional<MicroBatchWork> micro_batches;
  LinkPace links;
  std::optional<SlowTransfers> transfers;  // without those of slow links
};

[[nodiscard]] Patterns find_patterns(const AnalysedJob& job);

}  // namespace goodput
