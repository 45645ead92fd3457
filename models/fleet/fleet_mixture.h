// What a generated fleet of jobs is a mixture of: which causes slow them down and how much, how large they
// are, what else is wrong with them. configs/fleets/*.json (docs/formats/fleets.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/plan/stragglers.h"
#include "sim/base/errors.h"
#include "sim/config/config.h"

namespace goodput {

inline constexpr config::Kind kFleetFiles{"fleets", "fleet"};

// The slowdowns S of the jobs of a cause: quantiles, straight lines between them.
struct SlowdownQuantiles {
  double min = 1;
  double median = 1;
  double p90 = 1;
  double max = 1;

  // The quantile of `probability`, 0 to 1.
  [[nodiscard]] double at(double probability) const;
};
[[nodiscard]] config::Fields config_fields(SlowdownQuantiles& quantiles);
[[nodiscard]] Status config_finish(const SlowdownQuantiles& quantiles);

// Some of the jobs straggle for this cause.
struct FleetCause {
  std::size_t kind = 0;  // of kStragglerKinds: worker-fault, stage-partition, sequence-length or gc-pauses
  double share = 0;      // of the jobs
  SlowdownQuantiles slowdown;
};
[[nodiscard]] config::Fields config_fields(FleetCause& cause);

// Some of the jobs are cut up like this.
struct FleetShape {
  double share = 0;
  std::int32_t dp = 1;
  std::int32_t pp = 1;
  std::int32_t gpus_per_worker = 1;  // tensor and context parallelism
  std::int32_t micro_batches = 8;

  [[nodiscard]] std::int64_t gpus() const { return std::int64_t{dp} * pp * gpus_per_worker; }
};
[[nodiscard]] config::Fields config_fields(FleetShape& shape);

struct FleetMixture {
  std::string file;                // that it was read from
  config::KeyNotes notes;          // about its keys
  std::vector<FleetCause> causes;  // the other jobs straggle for none
  std::vector<FleetShape> shapes;  // their shares are 1 together
  TraceSettings trace;
  double forward_s = 0.02;
  // Of the documents, where their lengths slow a job down. How much a pass depends on them follows from S.
  double median_tokens = 512;
  double tokens_sigma = 1.5;  // deviation of the logarithm
  std::int64_t sequence_length = 32768;

  // What keeps jobs from being studied.
  double restarted_share = 0;  // restarted more than 15 times
  double short_share = 0;      // of two steps only
  double median_discrepancy = 0.013;
  double discrepancy_sigma = 0;  // deviation of its logarithm

  double median_hours = 24;
  double hours_sigma = 0;  // deviation of the logarithm
  std::int32_t hosts = 2000;
  std::int32_t bad_hosts = 0;  // of these, on which all worker faults are
};
[[nodiscard]] config::Fields config_fields(FleetMixture& mixture);
[[nodiscard]] Status config_finish(FleetMixture& mixture);

Result<FleetMixture> read_fleet_mixture(const std::string& path, const config::Library& library = {});

}  // namespace goodput
