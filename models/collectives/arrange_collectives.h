// From what the ranks of a job did to a recording and its operation graph, for jobs of any kind: ranks are
// tracks of segments, cut wherever they launch communication, and a communication op is a group over the
// ranks that take part.
//
// It knows of no schedule: messages and collectives order everything. docs/design.md, "Jobs seen by their
// collectives", has the rules.
#pragma once

#include <string>
#include <vector>

#include "models/analysis/arranged_job.h"
#include "sim/base/errors.h"
#include "sim/base/number_ranges.h"
#include "sim/clocks/align_clocks.h"
#include "sim/ops/job_metadata.h"
#include "sim/ops/rank_activity.h"

namespace goodput {

struct CollectiveOptions {
  bool strict = false;                  // refuse what would be left out
  std::vector<NumberRange> steps = {};  // empty: all
  ClockAlignment clocks = ClockAlignment::kAuto;
  std::string trial_name;
  JobMetadataFields metadata = {};  // hosts by rank; they go before those of the traces
};

// The grid of the result has a lane a replica and a slot a stage (joined_ranks.h), and names its workers by
// rank. `notes` gets what the user should know, also if it fails.
Result<ArrangedJob> arrange_collectives(std::vector<RankActivity> activities,
                                        const CollectiveOptions& options, std::vector<std::string>& notes);

}  // namespace goodput
