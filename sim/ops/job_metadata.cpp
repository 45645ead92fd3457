#include "sim/ops/job_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace goodput {
namespace {

// GPUs of the job; the largest number there is where the sizes are absurd.
std::int64_t product_of_sizes(const JobMetadata& job) {
  std::int64_t product = 1;
  for (const std::int64_t size : {job.dp_size, job.dsp_size, job.pp_size, job.tp_size}) {
    if (__builtin_mul_overflow(product, size, &product)) return std::numeric_limits<std::int64_t>::max();
  }
  return product;
}

std::int64_t smallest_gap(std::vector<std::int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::int64_t gap = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i] != ranks[i - 1]) gap = std::min<std::int64_t>(gap, std::int64_t{ranks[i]} - ranks[i - 1]);
  }
  return gap == std::numeric_limits<std::int64_t>::max() ? 1 : gap;
}

}  // namespace

JobMetadata complete_metadata(const JobMetadataFields& fields, const TraceIndex& index,
                              const std::string& trial_name) {
  JobMetadata job;
  job.trial_name = fields.trial_name.value_or(trial_name);
  job.run_id = fields.run_id.value_or(0);
  job.dp_size = fields.dp_size.value_or(index.dp_size);
  job.dsp_size = fields.dsp_size.value_or(1);
  job.pp_size = fields.pp_size.value_or(index.lane.pp_size);
  job.tp_size = fields.tp_size.value_or(smallest_gap(index.ranks));
  job.vpp_size = fields.vpp_size.value_or(index.lane.vpp_size);
  job.world_size = fields.world_size.value_or(product_of_sizes(job));
  return job;
}

Status check_recorded_sizes(std::int64_t dp_size, std::int64_t pp_size, std::int64_t recorded_dp_size,
                            std::int64_t recorded_pp_size) {
  const auto compare = [](const char* key, const char* part, std::int64_t said,
                          std::int64_t recorded) -> Status {
    if (said <= recorded) return Ok{};
    const std::string missing = said == recorded + 1
                                    ? fmt::format("{} {} is", part, recorded)
                                    : fmt::format("{}s {} to {} are", part, recorded, said - 1);
    return Error{fmt::format("is {}, but the trace contains only {}: {} missing; give all files of the job, "
                             "or correct the metadata",
                             said, recorded, missing),
                 {.pointer = fmt::format("/{}", key)}};
  };
  GOODPUT_TRY_STATUS(compare("dp_size", "dp_rank", dp_size, recorded_dp_size));
  return compare("pp_size", "stage", pp_size, recorded_pp_size);
}

std::vector<std::string> metadata_warnings(const JobMetadata& job, const TraceIndex& index) {
  std::vector<std::string> warnings;
  const auto compare = [&](const char* key, std::int64_t said, std::int64_t recorded) {
    if (said == recorded) return;
    warnings.push_back(fmt::format(
        "the metadata has {} {}, but the trace has {}; using the value from the trace", key, said, recorded));
  };
  compare("dp_size", job.dp_size, index.dp_size);
  compare("pp_size", job.pp_size, index.lane.pp_size);
  compare("vpp_size", job.vpp_size, index.lane.vpp_size);
  const std::int64_t product = product_of_sizes(job);
  if (job.world_size != product) {
    warnings.push_back(
        fmt::format("the metadata has world_size {}, but dp_size x dsp_size x pp_size x tp_size is {}",
                    job.world_size, product));
  }
  return warnings;
}

}  // namespace goodput
