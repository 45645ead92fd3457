// What is kept of a run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/job/job_engine.h"

namespace goodput {

// Whether the goal was reached by the deadline, at that very moment at the latest.
enum class DeadlineOutcome : std::uint8_t {
  kNone,  // there is no deadline
  kMet,
  kMissed,  // also where the job stopped for good
  kUnknown  // the recording of the nodes ended before, and the job had not
};

struct TrialSummary {
  bool finished = false;
  DeadlineOutcome deadline = DeadlineOutcome::kNone;
  std::string stopped{};  // why it ended before its goal and its time; empty: it did not
  double steps = 0, samples = 0, wall_s = 0, waited_s = 0;
  std::optional<double> horizon_s{};  // for its samples (JobResult::horizon)
  double ideal_node_s = 0;            // that its samples take in the plan's own steps
  std::optional<double> cost_usd{};   // where nodes have a price
  std::vector<double> usd_by_pool{};  // of the same, where the scenario has pools
  double missing_node_s = 0;          // paid for without the nodes being there
  std::optional<FirstSaving> first_saving{};
  double nodes_lost = 0, steps_lost = 0, saves_skipped = 0, stored_bytes = 0;
  std::array<double, kCauses> courses{};
  std::array<double, kTimeBucketCount> time_s{};
  std::array<double, kTimeBucketCount> node_time_s{};
  std::vector<PolicyMetric> metrics{};

  [[nodiscard]] double productive_s() const { return time_s[index(TimeBucket::kProductive)]; }
  [[nodiscard]] double paid_node_s() const;
};

// What a result does not say of its job.
struct TrialScale {
  double ideal_node_s_per_sample = 0;  // JobModel::ideal_node_seconds_per_sample()
  bool has_price = false;
  bool has_pools = false;
  double usd_per_stored_byte = 0;
  std::optional<SimTime> deadline{};
};
[[nodiscard]] TrialSummary summarize(const JobResult& result, const TrialScale& scale);

}  // namespace goodput
