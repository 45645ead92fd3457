// The trials of a scenario's policies, run as they are asked for: in their k-th all policies meet the same
// failures, which depend on the seed and on k alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/scenario/scenario.h"
#include "models/scenario/trial_summary.h"
#include "sim/base/errors.h"
#include "sim/nodes/node_bill.h"

namespace goodput {

// What a scenario's files hold. Outlives the runs.
struct SimulationInputs {
  const JobModel* job = nullptr;
  FailureSources failures{};  // of all pools, one after the other
  std::vector<PricedNodes> pools{};

  [[nodiscard]] bool is_free() const;
};

// Whether anything of the job costs money: its nodes, or what checkpoints write.
[[nodiscard]] bool has_price(const Scenario& scenario, const SimulationInputs& inputs);

class TrialRuns {
 public:
  // After every run: one call at a time, from any thread.
  using OnRun = std::function<void()>;

  // Prepares the policies. One that cannot run the job stands there with the reason; fails where none can,
  // and on a policy's options. `scenario` and what `inputs` points to must outlive the result.
  // `first_trial`: which trial stands first, of all that the seed has.
  static Result<TrialRuns> prepare(const Scenario& scenario, SimulationInputs inputs, std::uint64_t seed,
                                   std::uint64_t first_trial = 0);

  [[nodiscard]] const Scenario& scenario() const { return *scenario_; }
  [[nodiscard]] std::size_t policies() const { return entries_.size(); }
  // Why the policy cannot run the job, or failed in the first of its trials that did; empty: it can.
  [[nodiscard]] const std::string& refusal(std::size_t policy) const { return entries_[policy].refused; }
  // REQUIRES: it can.
  [[nodiscard]] const PreparedPolicy& prepared(std::size_t policy) const {
    return *entries_[policy].prepared;
  }
  // Those that were run, from the first on; none of a policy that cannot run.
  [[nodiscard]] std::span<const TrialSummary> trials(std::size_t policy) const {
    return entries_[policy].trials;
  }
  [[nodiscard]] std::vector<TrialSummary> take_trials(std::size_t policy) {
    return std::move(entries_[policy].trials);
  }

  // Afterwards there are so many trials, or more if there were, of every policy that can run: one that fails
  // in a trial cannot. Fails on failures that cannot be, and where every policy has failed.
  Status extend(std::int64_t trials, unsigned jobs, const OnRun& on_run = {});
  // Of these policies only, those that cannot run left out.
  Status extend(std::span<const std::size_t> policies, std::int64_t trials, unsigned jobs,
                const OnRun& on_run = {});

 private:
  struct Entry {
    std::string refused{};
    std::unique_ptr<const PreparedPolicy> prepared{};  // for all threads; none: it cannot run the job
    std::vector<TrialSummary> trials{};
  };
  struct Round;

  TrialRuns(const Scenario& scenario, SimulationInputs inputs, std::uint64_t seed, std::uint64_t first_trial);
  Status prepare_policies();
  [[nodiscard]] Status check_some_run() const;
  // Of all that lack one.
  Status run_trial(Round& round, std::size_t trial, const OnRun& on_run);
  // What became of the round: policies that failed in it are out.
  Status settle(const Round& round);

  const Scenario* scenario_;
  SimulationInputs inputs_;
  std::uint64_t seed_;
  std::uint64_t first_trial_;
  TrialScale scale_;
  std::vector<Entry> entries_{};
};

// The policy, ready for the job. Errors name file and pointer of the scenario.
Result<std::unique_ptr<PreparedPolicy>> prepare_policy(const Scenario& scenario, const ScenarioPolicy& policy,
                                                       const JobModel& job);

// One run of it.
Result<JobResult> run_policy(const Scenario& scenario, const SimulationInputs& inputs,
                             const PreparedPolicy& prepared, std::uint64_t seed, std::uint64_t trial,
                             JobLog* log);

}  // namespace goodput
