// A small job of a mixture of experts, and recovery policies that run it through scripted failures.
//
// GPT-S with 8 experts a layer on nodes of one GPU, balanced routing, processes up at the start. Step times
// are those of the operation graph: tests count in steps and say what else takes time by round options.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/job/job_model.h"
#include "models/policy/policy.h"
#include "models/policy_process/policy_command.h"
#include "models/scenario/scenario.h"
#include "sim/job/job_engine.h"
#include "tests/support/hand_job.h"

namespace goodput::testing {

// configs/plans/lazarus-gpt-s.json on so many nodes.
[[nodiscard]] TrainingPlan gpt_s_plan(std::int32_t nodes);

using JobPointer = std::unique_ptr<const JobModel>;
// With balanced routing, or another. Every replica trains the plan's share of the batch, unless said
// otherwise.
[[nodiscard]] JobPointer job_of(TrainingPlan plan, JobStart start = JobStart::kRunning);
[[nodiscard]] JobPointer job_of(TrainingPlan plan, JobRouting routing, JobStart start,
                                BatchRule batch = BatchRule::kPerReplica);
[[nodiscard]] JobPointer gpt_s(std::int32_t nodes = 10, JobStart start = JobStart::kRunning);

// Restarts take 15 s to be noticed, 60 s to start up and nothing to read; nothing to write, every 10 steps.
// Reconfigurations take 15 s + 10 s and nothing to transfer.
inline constexpr SimDuration kRestart = std::chrono::seconds{15} + std::chrono::seconds{60};
inline constexpr SimDuration kReconfiguration = std::chrono::seconds{15} + std::chrono::seconds{10};
inline constexpr const char* kRoundRestart =
    R"("restart": {"detect_s": 15, "startup_s": 60},
       "checkpoint": {"interval_steps": 10, "mode": "sync", "write_gb_per_s": 1e12, "read_gb_per_s": 1e12})";
inline constexpr const char* kRoundMigration =
    R"("migration": {"detect_s": 15, "regroup_s": 10, "transfer_setup_s": 0, "node_gb_per_s": 1e12)";
// {these, and more}; without the migration for policies that have none, without the time of a plan for those
// that compute none.
[[nodiscard]] std::string round_options(const std::string& more = "");
[[nodiscard]] std::string round_regrouping_options(const std::string& more = "");
[[nodiscard]] std::string round_elastic_options(const std::string& more = "");

// A policy prepared for a job.
class PolicyCase {
 public:
  // REQUIRES: options that are fine.
  PolicyCase(const std::string& policy, const std::string& options, JobPointer job = gpt_s());
  // A program of the user's. REQUIRES: one that answers "hello".
  PolicyCase(const PolicyCommand& command, const std::string& options, JobPointer job = gpt_s());

  [[nodiscard]] JobResult run(const JobGoal& goal, const NodeEvents& events, JobLog* log = nullptr);
  [[nodiscard]] JobResult run(const JobGoal& goal, FailureModel& failures, JobLog* log = nullptr);
  [[nodiscard]] JobResult run(const JobGoal& goal, FailureModel& failures, const RunKey& key);
  // Of all steps when these nodes and no others are there, healthy all the time.
  [[nodiscard]] SimDuration step(std::int32_t nodes);

  [[nodiscard]] const JobModel& job() const { return *job_; }
  [[nodiscard]] const PreparedPolicy& prepared() const { return *prepared_; }

 private:
  JobPointer job_;
  std::unique_ptr<PreparedPolicy> prepared_;
};

// What reading the options, or setting the policy up, says against them; "" when they are fine.
[[nodiscard]] std::string refusal(const std::string& policy, const std::string& options, const JobModel& job);

[[nodiscard]] SimDuration time_in(const JobResult& result, TimeBucket bucket);
[[nodiscard]] double metric(const JobResult& result, std::string_view name);
// Courses by cause, as in "start restart wait": what a run did.
[[nodiscard]] std::string courses_of(const JobLog& log);

}  // namespace goodput::testing
