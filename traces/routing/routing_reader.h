// Reads a routing trace from one or many files in any known format (traces/routing/routing_format.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/routing/routing_trace.h"

namespace goodput {

// A trace and what its files were.
struct RoutingReading {
  RoutingTrace trace;
  std::string format;      // a name of routing_formats(): that of every file
  std::int64_t ranks = 0;  // recorded one by one, and summed; 1 where the files do not tell them apart
  std::int64_t micro_batches = 0;  // the same
};

// The rows of all files together are one trace: pieces of the iterations, or the ranks. They must be of one
// format. Errors name file and line: what cannot be read, counts that are negative or no whole numbers, rows
// that are there twice, layers, ranks or micro-batches that some iterations lack.
Result<RoutingReading> read_routing_files(const std::vector<std::string>& paths);

Result<RoutingTrace> read_routing_trace(const std::vector<std::string>& paths);
Result<RoutingTrace> read_routing_trace(const std::string& path);

}  // namespace goodput
