#include "models/scenario/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <mutex>
#include <utility>

#include "models/scenario/simulation_statistics.h"
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

Result<std::unique_ptr<PreparedPolicy>> prepare(const Scenario& scenario, const ScenarioPolicy& policy,
                                                const JobModel& job) {
  GOODPUT_TRY(const std::unique_ptr<PolicySetup> setup, make_policy(scenario, policy));
  auto prepared = setup->prepare(job);
  if (!prepared) return at_policy(scenario, policy, prepared.error());
  return prepared;
}

Result<JobResult> run_trial(const Scenario& scenario, const SimulationInputs& inputs,
                            const PreparedPolicy& prepared, std::uint64_t seed, std::uint64_t trial,
                            JobLog* log) {
  GOODPUT_TRY(const auto failures, make_failures(scenario, inputs.failures, seed, trial));
  const std::unique_ptr<RecoveryPolicy> policy = prepared.start_run();
  return run_job(scenario.goal(), inputs.pools, *failures, *policy, log);
}

TrialScale scale_of(const Scenario& scenario, const SimulationInputs& inputs) {
  TrialScale scale{
      inputs.job->ideal_node_seconds_per_sample(), !inputs.is_free(), !scenario.pools.empty(), {}};
  if (scenario.deadline > SimDuration{}) scale.deadline = SimTime{scenario.deadline};
  return scale;
}

// Trials x policies, split over threads.
class Runs {
 public:
  Runs(const Scenario& scenario, const SimulationInputs& inputs, const SimulationOptions& options)
      : scenario_(scenario),
        inputs_(inputs),
        options_(options),
        scale_(scale_of(scenario, inputs)),
        refused_(scenario.policies.size()),
        results_(scenario.policies.size()) {}

  Status run() {
    const auto useful = static_cast<unsigned>(std::min<std::int64_t>(options_.trials, UINT_MAX));
    const unsigned threads = std::clamp(options_.jobs, 1U, useful);
    GOODPUT_TRY_STATUS(prepare_policies());
    const auto trials = static_cast<std::size_t>(options_.trials);
    const std::size_t round = std::max<std::size_t>(1, std::min(kRound, (trials + 19) / 20));
    for (std::size_t begin = 0; begin < trials; begin += round * threads) {
      const std::size_t end = std::min(trials, begin + round * threads);
      GOODPUT_TRY_STATUS(run_round(begin, end, threads));
    }
    return Ok{};
  }

  // Why the policy cannot run the job; empty: it can.
  [[nodiscard]] const std::string& refusal(std::size_t policy) const { return refused_[policy]; }
  // REQUIRES: it can.
  [[nodiscard]] const PreparedPolicy& prepared(std::size_t policy) const { return *policies_[policy]; }
  [[nodiscard]] std::vector<std::vector<TrialSummary>> take_trials() { return std::move(results_); }

 private:
  // Fails if no policy can run the job.
  Status prepare_policies() {
    std::optional<Error> first_error;
    for (std::size_t i = 0; i < scenario_.policies.size(); ++i) {
      auto prepared = prepare(scenario_, scenario_.policies[i], *inputs_.job);
      if (prepared) {
        policies_.push_back(*std::move(prepared));
        results_[i].resize(static_cast<std::size_t>(options_.trials));
      } else {
        refused_[i] = prepared.error().message();
        if (!first_error) first_error = std::move(prepared).error();
        policies_.push_back(nullptr);
      }
    }
    const bool all_refused =
        std::none_of(policies_.begin(), policies_.end(), [](const auto& one) { return !!one; });
    if (all_refused) {
      if (policies_.size() > 1) first_error->what += "; none of the other policies can run the job either";
      return *std::move(first_error);
    }
    return Ok{};
  }

  Status run_round(std::size_t begin, std::size_t end, unsigned threads) {
    std::vector<std::optional<Error>> errors(end - begin);
    parallel_chunks(threads, threads, [&](std::size_t first, std::size_t last) {
      for (std::size_t thread = first; thread < last; ++thread) {
        for (std::size_t trial = begin + thread; trial < end; trial += threads)
          errors[trial - begin] = run_one(trial);
      }
    });
    for (std::optional<Error>& error : errors) {
      if (error) return std::move(*error);
    }
    return Ok{};
  }

  std::optional<Error> run_one(std::size_t trial) {
    for (std::size_t policy = 0; policy < policies_.size(); ++policy) {
      if (policies_[policy]) {
        auto result = run_trial(scenario_, inputs_, *policies_[policy], options_.seed, trial, nullptr);
        if (!result) return std::move(result).error();
        results_[policy][trial] = summarize(*result, scale_);
      }
      count_run();
    }
    return std::nullopt;
  }

  void count_run() {
    if (!options_.progress) return;
    const std::scoped_lock one_at_a_time(progress_mutex_);
    options_.progress(++runs_done_);
  }

  const Scenario& scenario_;
  const SimulationInputs& inputs_;
  const SimulationOptions& options_;
  TrialScale scale_;
  std::vector<std::string> refused_;  // by policy
  // For all threads; none of those that cannot run the job.
  std::vector<std::unique_ptr<PreparedPolicy>> policies_;
  std::vector<std::vector<TrialSummary>> results_;  // by policy, then trial
  std::mutex progress_mutex_;
  std::uint64_t runs_done_ = 0;
};

PolicyOutcome outcome_in(const Runs& runs, std::size_t policy, std::span<const TrialSummary> trials,
                         bool has_goal) {
  PolicyOutcome outcome;
  if (!runs.refusal(policy).empty()) {
    outcome.refused = runs.refusal(policy);
    return outcome;
  }
  outcome = outcome_of(trials, has_goal);
  outcome.warnings = runs.prepared(policy).warnings();
  outcome.tier = runs.prepared(policy).tier();
  return outcome;
}

}  // namespace

Result<Simulation> simulate(const Scenario& scenario, const SimulationInputs& inputs,
                            const SimulationOptions& options) {
  GOODPUT_CHECK(inputs.job != nullptr && options.trials > 0, "a simulation of nothing");
  Runs runs(scenario, inputs, options);
  GOODPUT_TRY_STATUS(runs.run());
  Simulation simulation;
  simulation.lowest_tier = scenario.tier;
  simulation.trials = runs.take_trials();
  for (std::size_t i = 0; i < scenario.policies.size(); ++i) {
    PolicyOutcome outcome = outcome_in(runs, i, simulation.trials[i], scenario.has_goal());
    outcome.name = scenario.policies[i].name;
    outcome.policy = scenario.policies[i].policy;
    if (outcome.refused.empty()) simulation.lowest_tier = lowest(simulation.lowest_tier, outcome.tier);
    simulation.policies.push_back(std::move(outcome));
  }
  for (std::size_t i = 0; i < simulation.policies.size(); ++i) {
    for (std::size_t j = i + 1; j < simulation.policies.size(); ++j) {
      if (simulation.trials[i].empty() || simulation.trials[j].empty()) continue;
      PolicyRatio ratio = ratio_of(simulation.trials[i], simulation.trials[j]);
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
