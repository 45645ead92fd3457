// Job metadata: what a job was called and how it was cut up, from a file (traces/op/job_metadata_file.h) or
// read off its trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/trace_index.h"

namespace goodput {

// Fields a metadata file may leave out.
struct JobMetadataFields {
  std::optional<std::string> trial_name;
  std::optional<std::int64_t> run_id;
  std::optional<std::int64_t> dp_size;     // data-parallel replicas
  std::optional<std::int64_t> dsp_size;    // workers that share a replica's data-parallel shard
  std::optional<std::int64_t> pp_size;     // pipeline stages
  std::optional<std::int64_t> tp_size;     // tensor-parallel workers a stage
  std::optional<std::int64_t> vpp_size;    // model chunks a stage
  std::optional<std::int64_t> world_size;  // GPUs

  std::map<std::int64_t, std::string> hosts;    // by global rank
  std::map<std::string, std::string> switches;  // by host
  std::map<std::string, std::string> racks;     // by host
};

struct JobMetadata {
  std::string trial_name;
  std::int64_t run_id = 0;
  std::int64_t dp_size = 1;
  std::int64_t dsp_size = 1;
  std::int64_t pp_size = 1;
  std::int64_t tp_size = 1;
  std::int64_t vpp_size = 1;
  std::int64_t world_size = 1;
};

// What the file says, completed from the rows: sizes as recorded, tp_size = smallest gap between recorded
// ranks, world_size = product. `trial_name` is used where the file has none.
[[nodiscard]] JobMetadata complete_metadata(const JobMetadataFields& fields, const TraceIndex& index,
                                            const std::string& trial_name);

// Fails when the job is said to have more replicas or stages than were recorded: what is missing would be
// blamed on those that are there.
Status check_recorded_sizes(std::int64_t dp_size, std::int64_t pp_size, std::int64_t recorded_dp_size,
                            std::int64_t recorded_pp_size);

// One sentence a contradiction between metadata and rows.
[[nodiscard]] std::vector<std::string> metadata_warnings(const JobMetadata& metadata,
                                                         const TraceIndex& index);

}  // namespace goodput
