// Where the workers of a trace stand: hosts, and the switches and racks of these.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/recording/recording.h"
#include "traces/op/job_metadata.h"

namespace goodput {

// Kinds of which nothing is known are left out. Metadata goes before `read_hosts` (by rank, from the files;
// one host for all workers tells nothing: the files were put together on it).
[[nodiscard]] std::vector<Recording::PlaceKind> worker_places(
    const JobMetadataFields& metadata, const std::map<std::int64_t, std::string>& read_hosts,
    std::span<const std::int32_t> ranks);

}  // namespace goodput
