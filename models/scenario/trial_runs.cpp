#include "models/scenario/trial_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/base/parallel.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::size_t kRound = 1024;  // trials of a thread after which a failed one ends it all

// Of an error in the policy's options, or in a file of the plan's.
Error at_policy(const Scenario& scenario, const ScenarioPolicy& policy, const Error& error) {
  const config::Place place = config::Place{scenario.file, {}, {}}.at("policies").at(policy.name);
  if (error.where.file == scenario.file)  // a key of its own, which this policy cannot live with
    return {fmt::format("policy {}: {}", in_quotes(policy.name), error.what), error.where};
  if (!error.where.file.empty()) return place.error(error.message());
  return error.inside(place.pointer).in_file(place.file);
}

TrialScale scale_of(const Scenario& scenario, const SimulationInputs& inputs) {
  TrialScale scale{
      inputs.job->ideal_node_seconds_per_sample(), !inputs.is_free(), !scenario.pools.empty(), {}};
  if (scenario.deadline > SimDuration{}) scale.deadline = SimTime{scenario.deadline};
  return scale;
}

}  // namespace

bool SimulationInputs::is_free() const {
  return std::all_of(pools.begin(), pools.end(),
                     [](const PricedNodes& pool) { return pool.prices.is_free(); });
}

Result<std::unique_ptr<PreparedPolicy>> prepare_policy(const Scenario& scenario, const ScenarioPolicy& policy,
                                                       const JobModel& job) {
  GOODPUT_TRY(const std::unique_ptr<PolicySetup> setup, make_policy(scenario, policy));
  auto prepared = setup->prepare(job);
  if (!prepared) return at_policy(scenario, policy, prepared.error());
  return prepared;
}

Result<JobResult> run_policy(const Scenario& scenario, const SimulationInputs& inputs,
                             const PreparedPolicy& prepared, std::uint64_t seed, std::uint64_t trial,
                             JobLog* log) {
  GOODPUT_TRY(const auto failures, make_failures(scenario, inputs.failures, seed, trial));
  const std::unique_ptr<RecoveryPolicy> policy = prepared.start_run();
  return run_job(scenario.goal(), inputs.pools, *failures, *policy, log);
}

TrialRuns::TrialRuns(const Scenario& scenario, SimulationInputs inputs, std::uint64_t seed,
                     std::uint64_t first_trial)
    : scenario_(&scenario),
      inputs_(std::move(inputs)),
      seed_(seed),
      first_trial_(first_trial),
      scale_(scale_of(scenario, inputs_)) {}

Result<TrialRuns> TrialRuns::prepare(const Scenario& scenario, SimulationInputs inputs, std::uint64_t seed,
                                     std::uint64_t first_trial) {
  GOODPUT_CHECK(inputs.job != nullptr, "trials of no job");
  TrialRuns runs(scenario, std::move(inputs), seed, first_trial);
  GOODPUT_TRY_STATUS(runs.prepare_policies());
  return runs;
}

Status TrialRuns::prepare_policies() {
  std::optional<Error> first_error;
  for (const ScenarioPolicy& policy : scenario_->policies) {
    Entry& entry = entries_.emplace_back();
    auto prepared = prepare_policy(*scenario_, policy, *inputs_.job);
    if (prepared) {
      entry.prepared = *std::move(prepared);
    } else {
      entry.refused = prepared.error().message();
      if (!first_error) first_error = std::move(prepared).error();
    }
  }
  const bool all_refused =
      std::none_of(entries_.begin(), entries_.end(), [](const Entry& one) { return !!one.prepared; });
  if (!all_refused) return Ok{};
  if (entries_.size() > 1) first_error->what += "; none of the other policies can run the job either";
  return *std::move(first_error);
}

Status TrialRuns::extend(std::int64_t trials, unsigned jobs, const OnRun& on_run) {
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].prepared) running.push_back(i);
  }
  return extend(running, trials, jobs, on_run);
}

Status TrialRuns::extend(std::span<const std::size_t> policies, std::int64_t trials, unsigned jobs,
                         const OnRun& on_run) {
  const auto end = static_cast<std::size_t>(trials);
  std::vector<std::size_t> first;  // by `policies`: the first trial that is not there
  for (const std::size_t policy : policies) {
    GOODPUT_CHECK(entries_[policy].prepared, "a policy that cannot run is to run");
    first.push_back(entries_[policy].trials.size());
    entries_[policy].trials.resize(std::max(end, first.back()));
  }
  const std::size_t begin = first.empty() ? end : *std::min_element(first.begin(), first.end());
  if (begin >= end) return Ok{};
  std::mutex one_at_a_time;
  const OnRun counted = [&] {
    const std::scoped_lock lock(one_at_a_time);
    if (on_run) on_run();
  };
  const auto threads = static_cast<unsigned>(std::min<std::size_t>(std::max(jobs, 1U), end - begin));
  const std::size_t round = std::max<std::size_t>(1, std::min(kRound, (end - begin + 19) / 20)) * threads;
  for (std::size_t from = begin; from < end; from += round) {
    const std::size_t to = std::min(end, from + round);
    std::vector<Status> done(to - from, Ok{});
    parallel_chunks(threads, threads, [&](std::size_t low, std::size_t high) {
      for (std::size_t thread = low; thread < high; ++thread) {
        for (std::size_t trial = from + thread; trial < to; trial += threads)
          done[trial - from] = run_trial(policies, first, trial, counted);
      }
    });
    for (const Status& status : done) GOODPUT_TRY_STATUS(status);
  }
  return Ok{};
}

Status TrialRuns::run_trial(std::span<const std::size_t> policies, std::span<const std::size_t> first,
                            std::size_t trial, const OnRun& on_run) {
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if (trial < first[i]) continue;
    Entry& entry = entries_[policies[i]];
    GOODPUT_TRY(const JobResult result,
                run_policy(*scenario_, inputs_, *entry.prepared, seed_, first_trial_ + trial, nullptr));
    entry.trials[trial] = summarize(result, scale_);
    on_run();
  }
  return Ok{};
}

}  // namespace goodput
