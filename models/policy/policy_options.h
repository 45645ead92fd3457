// Options that several recovery policies share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/checkpoint/checkpoint_modules.h"
#include "models/checkpoint/save_cost.h"
#include "models/checkpoint/save_interval.h"
#include "models/job/job_model.h"
#include "models/migration/expert_migration.h"
#include "models/plan/parallel_plan.h"
#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/config/config.h"
#include "sim/job/steady_training.h"

namespace goodput {

// What policies take for durations, and for rates of storage and networks: what a clock of nanoseconds in 64
// bits can count with any model.
inline constexpr config::Range kPolicySeconds = config::between(0, 1e7);
inline constexpr config::Range kPolicyGbPerS = config::between(1e-3, 1e12);

// The fields of an object that has those of several structs.
[[nodiscard]] config::Fields joined(config::Fields first, const config::Fields& more);

// What of the rest of a scenario decides whether an option moves anything.
struct PolicyContext {
  bool has_slow_nodes = true;  // some failure model makes nodes slow
  bool changes_loads = true;   // of experts, while the job trains
  std::int32_t experts = 0;    // of a layer; 0: unknown
  bool is_dense = false;       // the model has none
  std::int32_t stages = 1;     // of the plan's pipeline
};

// Of "migration". `unused`: of its keys those that move nothing in a policy, because of `why`.
[[nodiscard]] config::Value migration_value(MigrationTiming& timing, std::vector<std::string_view> unused,
                                            std::string why);

// What it takes to start a job again.
struct RestartTiming {
  SimDuration detect = from_seconds(15);   // until a loss is noticed
  SimDuration startup = from_seconds(60);  // of processes, libraries and process groups
};
[[nodiscard]] config::Fields config_fields(RestartTiming& timing);

// Whole checkpoints in shared storage.
struct CheckpointSettings {
  IntervalRule rule = IntervalRule::kFixed;
  std::int64_t interval_steps = 50;  // kFixed; 0: no checkpoints
  double mtbf_hours = 0;             // of the job; the other rules; 0: what the job's failures come to
  SaveMode mode = SaveMode::kSync;
  BytesPerSecond write{1e9};      // storage, from all nodes together
  BytesPerSecond read{1e9};       // likewise
  BytesPerSecond snapshot{10e9};  // of a node to its own memory; kAsync
  double storage_duty = 1;        // share of the time that checkpoints may keep storage busy, above 0 .. 1
  std::int32_t bytes_per_parameter = 0;  // 0: by the plan (ParallelPlan::saved_bytes())
};
// What of a policy decides whether a setting moves anything.
struct CheckpointUse {
  std::function<bool()> saves_besides{};  // checkpoints are written with an interval of 0, too; none: never
  bool snapshots_in_sync = false;         // also with kSync they go to the nodes' memory first
};
[[nodiscard]] config::Fields config_fields(CheckpointSettings& settings, CheckpointUse use);
// Why no checkpoint is written at any interval; empty: some are.
[[nodiscard]] std::string no_interval(const CheckpointSettings& settings);

// Whether the interval follows from how often the job's nodes fail.
[[nodiscard]] bool follows_failures(const CheckpointSettings& settings);
// Fails where it does, and nothing is known of failures, or none hits the job. Error::where: a pointer from
// the settings.
[[nodiscard]] Status check_interval(const CheckpointSettings& settings, const JobModel& job);
// Mean time between failures that the interval goes by on so many nodes.
// REQUIRES: check_interval().
[[nodiscard]] double mtbf_s(const CheckpointSettings& settings, const JobModel& job, std::int32_t nodes);

[[nodiscard]] std::int32_t bytes_per_parameter(const CheckpointSettings& settings, const ParallelPlan& plan);
// Bytes of each module in a checkpoint.
[[nodiscard]] ModuleBytes checkpoint_modules(const JobModel& job, const CheckpointSettings& settings);
// Bytes of a whole checkpoint.
[[nodiscard]] Bytes checkpoint_bytes(const JobModel& job, const CheckpointSettings& settings);

// Of a whole checkpoint that `nodes` nodes write together.
[[nodiscard]] SaveTimes whole_save_times(const CheckpointSettings& settings, Bytes bytes, std::int32_t nodes);

// What a checkpoint writes to storage, and how long that takes.
struct CheckpointWrite {
  SaveTimes times{};
  Bytes bytes{};
};

// What saving does to training. `restart`: until training resumes after a loss. An interval that would keep
// storage busier than settings.storage_duty is stretched, and the rule keeps the interval that was asked for.
// `mtbf_s`: of the job, as above; a fixed interval does not need it.
[[nodiscard]] CheckpointRule checkpoint_rule(const CheckpointSettings& settings, const CheckpointWrite& write,
                                             const StepTime& step, SimDuration restart, double mtbf_s);

}  // namespace goodput
