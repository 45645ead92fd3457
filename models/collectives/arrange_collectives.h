// Turns what the ranks of any job did into a recording and its operation graph. A rank is a track of
// segments, cut wherever it launches communication; a communication op is a group over the ranks that take
// part.
//
// No schedule is assumed: messages and collectives order everything. docs/design.md, "Jobs seen by their
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
  JobMetadataFields metadata = {};  // hosts by rank; they override those of the traces
};

// In the grid of the result every lane is a replica and every slot a stage (joined_ranks.h); workers are
// named by rank. Adds to `notes` what the user should know, also on failure.
Result<ArrangedJob> arrange_collectives(std::vector<RankActivity> activities,
                                        const CollectiveOptions& options, std::vector<std::string>& notes);

}  // namespace goodput
