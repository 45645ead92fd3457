// Reads a routing trace from one or many files in any known format (traces/routing/routing_format.h).
#pragma once

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/routing/routing_trace.h"
#include "traces/routing/routing_rows.h"

namespace goodput {

// The rows of all files together are one trace: pieces of the iterations, or the ranks. They must be of one
// format. Errors name file and line: what cannot be read, counts that are negative or no whole numbers, rows
// that are there twice, layers, ranks or micro-batches that some iterations lack.
Result<RoutingReading> read_routing_files(const std::vector<std::string>& paths,
                                          FirstRows first = FirstRows::kDrop);

// A folder with the raw logs of one iteration of the SmartMoE artifact, a file per rank. Errors name the
// folder, or as those above.
struct RankFolder {
  RankRows rows;
  std::vector<std::string> files;  // that were read, by name
};
Result<RankFolder> read_rank_folder(const std::string& folder);

Result<RoutingTrace> read_routing_trace(const std::vector<std::string>& paths);
Result<RoutingTrace> read_routing_trace(const std::string& path);

}  // namespace goodput
