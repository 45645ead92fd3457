// The options of policies that restart from checkpoints (models/policy/restart_policy.h), and what such a
// policy finds out about its job before any run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job_model.h"
#include "models/job/training_speed.h"
#include "models/policy/node_choice.h"
#include "models/policy/plan_limits.h"
#include "models/policy/policy_options.h"

namespace goodput {

// What becomes of nodes that join while the job trains.
enum class Absorb : std::uint8_t {
  kAtRestart,  // they wait until something fails
  kGathered,   // the job restarts with them, gather_s after the first of them joined
};
inline constexpr std::string_view kAbsorbNames[] = {"at_restart", "gathered"};

struct RestartOptions {
  RestartTiming timing{};
  CheckpointSettings checkpoint{};
  SlowNodeRule slow_nodes{};
  Absorb absorb = Absorb::kAtRestart;
  SimDuration gather = from_seconds(120);
  StepSettings step{};
  Tier tier = Tier::kAssumed;
};

// What of a policy decides whether an option moves anything.
struct RestartUse {
  // Why it never grows onto nodes that join, with `absorb` and `gather`; "" or none: it does.
  std::function<std::string()> never_grows{};
  bool saves_to_grow = true;  // a checkpoint, to restart with them
  bool saves_to_swap = true;  // a slow node
  bool snapshots_in_sync = false;
  bool dispatches = true;         // to experts in groups of GPUs
  bool groups_in_stages = false;  // also where the plan has pipeline stages
};
[[nodiscard]] config::Fields config_fields(RestartOptions& options, const PolicyContext& context,
                                           const RestartUse& use = {});
// Of "slow_nodes".
[[nodiscard]] config::Field slow_nodes_field(SlowNodeRule& rule, const PolicyContext& context);
// Of "checkpoint".
[[nodiscard]] config::Value checkpoint_value(CheckpointSettings& settings, const CheckpointUse& use);

// A job and how fast it trains, kept for all runs of a policy.
struct RestartJob {
  const JobModel* job = nullptr;
  RestartOptions options{};  // `tier` is the lowest that step times rest on, too
  std::unique_ptr<TrainingSpeed> speed{};
  std::vector<std::string> warnings{};
  std::vector<std::string> idle_nodes{};  // warnings of nodes that the batch leaves idle
  bool fits = true;                       // into memory; else a warning says what does not
  SimDuration step{};                     // the first, on all nodes that it uses
};

// Fails where the job does not fit its cluster, and where its steps cannot be timed. `job` must outlive it.
[[nodiscard]] Result<RestartJob> restart_job(const JobModel& job, const RestartOptions& options,
                                             std::unique_ptr<TrainingSpeed> speed);
// With the plan's own replicas.
[[nodiscard]] Result<RestartJob> restart_job(const JobModel& job, const RestartOptions& options);
// The plans of such a job.
[[nodiscard]] PlanLimits restart_limits(const TrainingPlan& base);
template <typename Options>
[[nodiscard]] Result<PlanLimits> limits_of_replicas(const Options& /*options*/, const TrainingPlan& base) {
  return restart_limits(base);
}

}  // namespace goodput
