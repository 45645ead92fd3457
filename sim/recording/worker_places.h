// Where the workers of a trace run: hosts, and the switches and racks of these.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/ops/job_metadata.h"
#include "sim/recording/worker_grid.h"

namespace goodput {

// Kinds of which nothing is known are left out. Metadata goes before `read_hosts` (by rank, from the files;
// one host for all workers tells nothing: the files were put together on it).
[[nodiscard]] std::vector<WorkerGrid::PlaceKind> worker_places(
    const JobMetadataFields& metadata, const std::map<std::int64_t, std::string>& read_hosts,
    std::span<const std::int32_t> ranks);

}  // namespace goodput
