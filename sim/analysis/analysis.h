// The whole analysis of a recorded job as plain data: what every output (text, JSON, pages, the monitor)
// reads. models/analysis makes it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/analysis/verdict.h"
#include "sim/causes/doubt.h"
#include "sim/causes/pace.h"
#include "sim/causes/rank_work.h"
#include "sim/causes/root_cause.h"
#include "sim/clocks/align_clocks.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/job_metadata.h"
#include "sim/recording/worker_grid.h"
#include "sim/whatif/whatif.h"

namespace goodput {

// What the files hold.
struct TraceFacts {
  std::vector<std::string> formats{};  // one per file
  std::size_t ops = 0;                 // rows in the files, all steps
  std::size_t steps = 0;               // steps in the files
  std::size_t ops_per_lane = 0;        // operations of one step of one replica
  std::vector<std::string> notes{};    // for the user: derived ids, contradictions, what was done to clocks
  bool has_inferred_waits = false;     // of ranks for collectives: only the times show them
};

// The job with some operations made ideal: what a fix would buy.
struct Intervention {
  std::vector<std::string> fix;   // selectors of the operations that are ideal,
  std::vector<std::string> keep;  // or of those that stay as recorded
  double jct_s = 0;               // mean step time (span)
  double speedup = 1;  // over the replay without launch delays; for a fix of those, over the recording
};

struct Analysis {
  JobMetadata job;
  WorkerGrid grid;
  TraceFacts trace;
  std::vector<CleaningFinding> cleaning;  // one per rule that found something
  RecordedClocks clocks;
  double decompose_threshold = 0;  // launch delays are attributed at or above this launch slowdown
  WhatIf whatif;
  // The share of the replayed step that would be saved if messages between stages took no time. If every
  // replica and link is equally slow, S does not show it; this does.
  double message_share = 0;
  std::vector<PeerPace> worker_pace;  // at dp * pp_size + stage
  std::optional<double> correlation;  // of forward and backward passes (Pearson); absent: unknown
  std::optional<RankWork> rank_work;  // of jobs seen by their collectives
  std::optional<Doubt> doubt;         // why nobody is blamed; absent: nothing speaks against it
  std::vector<RootCause> causes;      // likely ones first, then by gain
  std::vector<Intervention> interventions;
  std::optional<Verdict> verdict;  // absent: no cause is likely, S is below 1.05, and no doubt
};

}  // namespace goodput
