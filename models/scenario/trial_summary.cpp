#include "models/scenario/trial_summary.h"

#include <numeric>

namespace goodput {
namespace {

// A run that ended at its horizon could have gone on; one that ended before gave up.
DeadlineOutcome deadline_outcome(const JobResult& result, std::optional<SimTime> deadline) {
  if (!deadline) return DeadlineOutcome::kNone;
  if (result.finished) return result.end <= *deadline ? DeadlineOutcome::kMet : DeadlineOutcome::kMissed;
  const bool gave_up = !result.horizon || result.end < *result.horizon;
  return gave_up || result.end >= *deadline ? DeadlineOutcome::kMissed : DeadlineOutcome::kUnknown;
}

}  // namespace

double TrialSummary::paid_node_s() const {
  return std::accumulate(node_time_s.begin(), node_time_s.end(), 0.0) + missing_node_s;
}

TrialSummary summarize(const JobResult& result, const TrialScale& scale) {
  TrialSummary trial;
  trial.finished = result.finished;
  trial.deadline = deadline_outcome(result, scale.deadline);
  trial.stopped = result.stopped;
  trial.steps = static_cast<double>(result.steps);
  trial.samples = static_cast<double>(result.samples);
  trial.wall_s = result.wall_s();
  trial.waited_s = to_seconds(result.waited);
  if (result.horizon) trial.horizon_s = to_seconds(result.horizon->time_since_epoch());
  trial.ideal_node_s = trial.samples * scale.ideal_node_s_per_sample;
  trial.stored_bytes = result.stored_bytes;
  if (scale.has_price) trial.cost_usd = result.cost_usd + result.stored_bytes * scale.usd_per_stored_byte;
  if (scale.has_price && scale.has_pools) trial.usd_by_pool = result.usd_by_pool;
  trial.missing_node_s = node_seconds(result.missing_paid_time);
  trial.first_saving = result.first_saving;
  trial.nodes_lost = static_cast<double>(result.nodes_lost);
  trial.steps_lost = static_cast<double>(result.steps_lost);
  trial.saves_skipped = static_cast<double>(result.saves_skipped);
  for (std::size_t i = 0; i < kCauses; ++i) trial.courses[i] = static_cast<double>(result.courses[i]);
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) {
    trial.time_s[i] = to_seconds(result.ledger.time[i]);
    trial.node_time_s[i] = node_seconds(result.ledger.node_time[i]);
  }
  trial.metrics = result.metrics;
  return trial;
}

}  // namespace goodput
