#include "models/scenario/simulation.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <utility>

#include "models/scenario/simulation_statistics.h"
#include "sim/base/parallel.h"

namespace goodput {
namespace {

constexpr std::size_t kRound = 1024;  // trials between two reports of progress

// Of an error in the policy's options, or in a file of the plan's.
Error at_policy(const Scenario& scenario, const ScenarioPolicy& policy, const Error& error) {
  const config::Place place = config::Place{scenario.file, {}, {}}.at("policies").at(policy.name);
  if (!error.where.file.empty()) return place.error(error.message());
  return error.inside(place.pointer).in_file(place.file);
}

Error at_failures(const Scenario& scenario, const Error& error) {
  return error.inside("/failures").in_file(scenario.file);
}

Result<std::unique_ptr<PreparedPolicy>> prepare(const Scenario& scenario, const ScenarioPolicy& policy,
                                                const JobModel& job) {
  GOODPUT_TRY(const std::unique_ptr<PolicySetup> setup, make_policy(scenario, policy));
  auto prepared = setup->prepare(job);
  if (!prepared) return at_policy(scenario, policy, prepared.error());
  return prepared;
}

Result<JobResult> run_trial(const Scenario& scenario, const SimulationInputs& inputs,
                            PreparedPolicy& prepared, std::uint64_t seed, std::uint64_t trial, JobLog* log) {
  auto failures = make_failure_model(scenario.failures, inputs.failures, seed, trial);
  if (!failures) return at_failures(scenario, failures.error());
  const std::unique_ptr<RecoveryPolicy> policy = prepared.start_run();
  return run_job(scenario.goal(), inputs.prices, **failures, *policy, log);
}

// A thread's own: every policy with what it has found out so far.
using Policies = std::vector<std::unique_ptr<PreparedPolicy>>;

Result<Policies> prepare_all(const Scenario& scenario, const JobModel& job) {
  Policies policies;
  for (const ScenarioPolicy& policy : scenario.policies) {
    GOODPUT_TRY(std::unique_ptr<PreparedPolicy> prepared, prepare(scenario, policy, job));
    policies.push_back(std::move(prepared));
  }
  return policies;
}

// Trials x policies, split over threads.
class Runs {
 public:
  Runs(const Scenario& scenario, const SimulationInputs& inputs, const SimulationOptions& options)
      : scenario_(scenario),
        inputs_(inputs),
        options_(options),
        results_(scenario.policies.size(),
                 std::vector<TrialSummary>(static_cast<std::size_t>(options.trials))) {}

  Status run() {
    const auto useful = static_cast<unsigned>(std::min<std::int64_t>(options_.trials, UINT_MAX));
    const unsigned threads = std::clamp(options_.jobs, 1U, useful);
    for (unsigned thread = 0; thread < threads; ++thread) {
      GOODPUT_TRY(Policies policies, prepare_all(scenario_, *inputs_.job));
      policies_.push_back(std::move(policies));
    }
    const auto trials = static_cast<std::size_t>(options_.trials);
    const std::size_t round = std::max<std::size_t>(1, std::min(kRound, (trials + 19) / 20));
    for (std::size_t begin = 0; begin < trials; begin += round * threads) {
      const std::size_t end = std::min(trials, begin + round * threads);
      GOODPUT_TRY_STATUS(run_round(begin, end));
      if (options_.progress) options_.progress(end * scenario_.policies.size());
    }
    return Ok{};
  }

  [[nodiscard]] const std::vector<TrialSummary>& of_policy(std::size_t policy) const {
    return results_[policy];
  }
  [[nodiscard]] const PreparedPolicy& prepared(std::size_t policy) const {
    return *policies_.front()[policy];
  }

 private:
  Status run_round(std::size_t begin, std::size_t end) {
    const auto threads = static_cast<unsigned>(policies_.size());
    std::vector<std::optional<Error>> errors(end - begin);
    parallel_chunks(threads, threads, [&](std::size_t first, std::size_t last) {
      for (std::size_t thread = first; thread < last; ++thread) {
        for (std::size_t trial = begin + thread; trial < end; trial += threads)
          errors[trial - begin] = run_one(trial, policies_[thread]);
      }
    });
    for (std::optional<Error>& error : errors) {
      if (error) return std::move(*error);
    }
    return Ok{};
  }

  std::optional<Error> run_one(std::size_t trial, Policies& policies) {
    for (std::size_t policy = 0; policy < policies.size(); ++policy) {
      auto result = run_trial(scenario_, inputs_, *policies[policy], options_.seed, trial, nullptr);
      if (!result) return std::move(result).error();
      results_[policy][trial] = summarize(*result);
    }
    return std::nullopt;
  }

  const Scenario& scenario_;
  const SimulationInputs& inputs_;
  const SimulationOptions& options_;
  std::vector<Policies> policies_;                  // by thread
  std::vector<std::vector<TrialSummary>> results_;  // by policy, then trial
};

}  // namespace

Result<Simulation> simulate(const Scenario& scenario, const SimulationInputs& inputs,
                            const SimulationOptions& options) {
  GOODPUT_CHECK(inputs.job != nullptr && options.trials > 0, "a simulation of nothing");
  Runs runs(scenario, inputs, options);
  GOODPUT_TRY_STATUS(runs.run());
  Simulation simulation;
  simulation.lowest_tier = scenario.tier;
  for (std::size_t i = 0; i < scenario.policies.size(); ++i) {
    PolicyOutcome outcome = outcome_of(runs.of_policy(i));
    outcome.name = scenario.policies[i].name;
    outcome.policy = scenario.policies[i].policy;
    outcome.warnings = runs.prepared(i).warnings();
    outcome.tier = runs.prepared(i).tier();
    simulation.lowest_tier = lowest(simulation.lowest_tier, outcome.tier);
    simulation.policies.push_back(std::move(outcome));
  }
  for (std::size_t i = 0; i < scenario.policies.size(); ++i) {
    for (std::size_t j = i + 1; j < scenario.policies.size(); ++j) {
      PolicyRatio ratio = ratio_of(runs.of_policy(i), runs.of_policy(j));
      ratio.name = scenario.policies[i].name + "/" + scenario.policies[j].name;
      simulation.ratios.push_back(std::move(ratio));
    }
  }
  return simulation;
}

Result<JobLog> record_run(const Scenario& scenario, const SimulationInputs& inputs,
                          const ScenarioPolicy& policy, std::uint64_t seed, std::uint64_t trial) {
  GOODPUT_TRY(const std::unique_ptr<PreparedPolicy> prepared, prepare(scenario, policy, *inputs.job));
  JobLog log;
  GOODPUT_TRY(const JobResult unused, run_trial(scenario, inputs, *prepared, seed, trial, &log));
  static_cast<void>(unused);
  return log;
}

}  // namespace goodput
