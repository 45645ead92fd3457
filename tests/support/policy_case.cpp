#include "tests/support/policy_case.h"

#include <filesystem>
#include <utility>

#include "models/policy_process/process_setup.h"
#include "sim/config/config.h"

namespace goodput::testing {
namespace {

template <typename T>
T value_of(Result<T> result) {
  REQUIRE_MESSAGE(result, (result ? "" : result.error().message()));
  return *std::move(result);
}

Result<std::unique_ptr<PolicySetup>> read_policy(const std::string& policy, const std::string& options) {
  Scenario scenario;
  scenario.file = "s.json";
  return make_policy(scenario, {policy, policy, options});
}

}  // namespace

TrainingPlan gpt_s_plan(std::int32_t nodes) {
  TrainingPlan plan =
      value_of(read_training_plan((std::filesystem::path(GOODPUT_CONFIGS) / "plans/lazarus-gpt-s.json")));
  plan.cluster.nodes = nodes;
  plan.parallel.dp = nodes;
  plan.parallel.global_batch = 4 * std::int64_t{nodes};
  if (nodes % plan.parallel.ep != 0) plan.parallel.ep = 1;
  return plan;
}

JobPointer job_of(TrainingPlan plan, JobRouting routing, JobStart start, BatchRule batch) {
  return value_of(
      JobModel::make({.plan = std::move(plan), .batch = batch, .start = start}, std::move(routing)));
}

JobPointer job_of(TrainingPlan plan, JobStart start) {
  const std::int32_t layers = plan.model.moe ? plan.model.layers : 0;
  const std::int32_t experts = plan.model.moe ? plan.model.moe->experts : 1;
  return job_of(std::move(plan), JobRouting::balanced(layers, experts), start);
}

JobPointer gpt_s(std::int32_t nodes, JobStart start) {
  return job_of(gpt_s_plan(nodes), start);
}

std::string round_options(const std::string& more) {
  return std::string("{") + kRoundRestart + (more.empty() ? "" : ", " + more) + "}";
}
std::string round_regrouping_options(const std::string& more) {
  return round_options(std::string(kRoundMigration) + "}" + (more.empty() ? "" : ", " + more));
}
std::string round_elastic_options(const std::string& more) {
  return round_options(std::string(kRoundMigration) + R"(, "plan_s": 0})" +
                       (more.empty() ? "" : ", " + more));
}

PolicyCase::PolicyCase(const std::string& policy, const std::string& options, JobPointer job)
    : job_(std::move(job)), prepared_(value_of(value_of(read_policy(policy, options))->prepare(*job_))) {}

PolicyCase::PolicyCase(const PolicyCommand& command, const std::string& options, JobPointer job)
    : job_(std::move(job)), prepared_(value_of(process_setup(command, options)->prepare(*job_))) {}

JobResult PolicyCase::run(const JobGoal& goal, const NodeEvents& events, JobLog* log) {
  ScriptedFailures failures(events);
  return run(goal, failures, log);
}

JobResult PolicyCase::run(const JobGoal& goal, FailureModel& failures, JobLog* log) {
  const std::unique_ptr<RecoveryPolicy> policy = prepared_->start_run({});
  return run_job(goal, {}, failures, *policy, log);
}

JobResult PolicyCase::run(const JobGoal& goal, FailureModel& failures, const RunKey& key) {
  const std::unique_ptr<RecoveryPolicy> policy = prepared_->start_run(key);
  return run_job(goal, {}, failures, *policy);
}

SimDuration PolicyCase::step(std::int32_t nodes) {
  const JobResult result = run(steps(1), held(nodes));
  REQUIRE(result.finished);
  return time_in(result, TimeBucket::kProductive);
}

std::string refusal(const std::string& policy, const std::string& options, const JobModel& job) {
  auto setup = read_policy(policy, options);
  if (!setup) return setup.error().message();
  const auto prepared = (*setup)->prepare(job);
  return prepared ? "" : prepared.error().where.text() + ": " + prepared.error().what;
}

SimDuration time_in(const JobResult& result, TimeBucket bucket) {
  return result.ledger.time[index(bucket)];
}

double metric(const JobResult& result, std::string_view name) {
  for (const PolicyMetric& metric : result.metrics) {
    if (metric.name == name) return metric.value;
  }
  FAIL("no metric " << name);
  return 0;
}

std::string courses_of(const JobLog& log) {
  std::string courses;
  for (const JobInstant& instant : log.instants) {
    if (instant.kind != JobInstant::Kind::kCourse) continue;
    if (!courses.empty()) courses += " ";
    courses += instant.cause == Cause::kNone ? "wait" : kCauseNames[static_cast<std::size_t>(instant.cause)];
  }
  return courses;
}

}  // namespace goodput::testing
