// What every analysis starts from, whatever kind of trace it came from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/analysis/analysis.h"
#include "sim/causes/doubt.h"
#include "sim/clocks/align_clocks.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/job_metadata.h"
#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"

namespace goodput {

// A recording that is ready to be analyzed.
struct ArrangedJob {
  OpGraph graph;
  Recording recording;
  JobMetadata job;
  TraceFacts trace;
  std::vector<CleaningFinding> cleaning;  // one per rule that found something
  RecordedClocks clocks;
  std::optional<Doubt> doubt{};  // of what was recorded, before any replay
  std::string file{};            // that errors of the trace as a whole name; empty: none
};

}  // namespace goodput
