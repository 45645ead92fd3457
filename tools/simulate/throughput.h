// How many samples a job had trained at every moment of its first trial, under every policy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/job/time_bucket.h"
#include "tools/simulate/recorded_run.h"

namespace goodput {

// From `time` until that of the next point.
struct ThroughputPoint {
  SimTime time{};
  std::int32_t nodes_held = 0;
  std::int32_t nodes_used = 0;
  double samples = 0;                  // that count at `time`: those lost to a failure are gone again
  double samples_per_s = 0;            // of training, with the checkpoints that are saved in between; else 0
  std::optional<TimeBucket> bucket{};  // what the job does; nothing behind the end
};

// A point for every change; the last one is the end.
[[nodiscard]] std::vector<ThroughputPoint> throughput_of(const RecordedRun& run);

// CSV with a header: t_s,policy,nodes_held,nodes_used,samples,samples_per_s,bucket
// (docs/formats/simulate.md).
[[nodiscard]] std::string throughput_csv(std::span<const RecordedRun> runs);

// Samples over time, a line a policy, above the nodes that are held.
[[nodiscard]] std::string throughput_svg(std::span<const RecordedRun> runs, std::string_view title);

}  // namespace goodput
