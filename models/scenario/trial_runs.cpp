#include "models/scenario/trial_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "models/scenario/pool_prices.h"
#include "sim/base/parallel.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::size_t kRound = 1024;  // trials of a thread after which a failed one ends it all

constexpr const char* kNoOthers = "; none of the other policies can run the job either";

// Of an error in the policy's options, or in a file of the plan's.
Error at_policy(const Scenario& scenario, const ScenarioPolicy& policy, const Error& error) {
  const config::Place place = config::Place{scenario.file, {}, {}}.at("policies").at(policy.name);
  if (error.where.file == scenario.file)  // a key of its own, which this policy cannot live with
    return {fmt::format("policy {}: {}", in_quotes(policy.name), error.what), error.where};
  if (!error.where.file.empty()) return place.error(error.message());
  return error.inside(place.pointer).in_file(place.file);
}

TrialScale scale_of(const Scenario& scenario, const SimulationInputs& inputs) {
  TrialScale scale;
  scale.ideal_node_s_per_sample = inputs.job->ideal_node_seconds_per_sample();
  scale.has_price = has_price(scenario, inputs);
  scale.has_pools = !scenario.pools.empty();
  scale.usd_per_stored_byte = scenario.usd_per_tb_written / 1e12;
  if (scenario.deadline > SimDuration{}) scale.deadline = SimTime{scenario.deadline};
  return scale;
}

// With the prices of recordings from where this trial starts in them.
std::vector<PricedNodes> pools_in_trial(const Scenario& scenario, const SimulationInputs& inputs,
                                        std::uint64_t seed, std::uint64_t trial) {
  std::vector<PricedNodes> pools = inputs.pools;
  const RecordingReplays replays = replays_of(scenario, inputs.failures, seed, trial);
  const std::vector<PoolView> views = pools_of(scenario);
  std::size_t first = 0;
  for (std::size_t i = 0; i < std::min(views.size(), pools.size()); ++i) {
    const auto sources = sources_of(inputs.failures, first, views[i].failures.size());
    if (const auto recording = price_recording(views[i], sources))
      pools[i].prices = recorded_prices(*sources[*recording].trace, replays[first + *recording]->start);
    first += views[i].failures.size();
  }
  return pools;
}

}  // namespace

bool SimulationInputs::is_free() const {
  return std::all_of(pools.begin(), pools.end(),
                     [](const PricedNodes& pool) { return pool.prices.is_free(); });
}

bool has_price(const Scenario& scenario, const SimulationInputs& inputs) {
  return !inputs.is_free() || scenario.usd_per_tb_written > 0;
}

Result<std::unique_ptr<PreparedPolicy>> prepare_policy(const Scenario& scenario, const ScenarioPolicy& policy,
                                                       const JobModel& job) {
  GOODPUT_TRY(const std::unique_ptr<PolicySetup> setup, make_policy(scenario, policy));
  auto prepared = setup->prepare(job);
  if (!prepared && policy.command) return prepared.error();  // which names it
  if (!prepared) return at_policy(scenario, policy, prepared.error());
  return prepared;
}

Result<JobResult> run_policy(const Scenario& scenario, const SimulationInputs& inputs,
                             const PreparedPolicy& prepared, std::uint64_t seed, std::uint64_t trial,
                             JobLog* log) {
  GOODPUT_TRY(const auto failures, make_failures(scenario, inputs.failures, seed, trial));
  const std::unique_ptr<RecoveryPolicy> policy = prepared.start_run({seed, trial});
  if (trial == 0) return run_job(scenario.goal(), inputs.pools, *failures, *policy, log);
  const std::vector<PricedNodes> pools = pools_in_trial(scenario, inputs, seed, trial);
  return run_job(scenario.goal(), pools, *failures, *policy, log);
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
  GOODPUT_CHECK(inputs.job != nullptr, "trials need a job");
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
  if (const Status some = check_some_run(); some) return Ok{};
  if (entries_.size() > 1) first_error->what += kNoOthers;
  return *std::move(first_error);
}

Status TrialRuns::check_some_run() const {
  const bool some =
      std::any_of(entries_.begin(), entries_.end(), [](const Entry& one) { return one.refused.empty(); });
  if (some) return Ok{};
  return Error{entries_.front().refused + (entries_.size() > 1 ? kNoOthers : "")};
}

// Some trials of some policies, on several threads. When a policy fails, its later trials need not be run;
// the earlier ones are, so that which failure is told does not depend on the threads.
struct TrialRuns::Round {
  struct Runner {
    std::size_t policy = 0;
    std::size_t first = 0;  // trial that is not there
    std::size_t failed_in = SIZE_MAX;
    std::string failure{};
  };

  std::vector<Runner> runners{};
  std::mutex mutex{};  // of what is told: failures

  [[nodiscard]] bool wants(const Runner& runner, std::size_t trial) {
    const std::scoped_lock lock(mutex);
    return trial >= runner.first && trial < runner.failed_in;
  }
  void note_failure(Runner& runner, std::size_t trial, std::string failure) {
    const std::scoped_lock lock(mutex);
    if (trial > runner.failed_in) return;
    runner.failed_in = trial;
    runner.failure = std::move(failure);
  }
};

Status TrialRuns::extend(std::int64_t trials, unsigned jobs, const OnRun& on_run) {
  std::vector<std::size_t> all(entries_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return extend(all, trials, jobs, on_run);
}

Status TrialRuns::extend(std::span<const std::size_t> policies, std::int64_t trials, unsigned jobs,
                         const OnRun& on_run) {
  const auto end = static_cast<std::size_t>(trials);
  Round runs;
  std::size_t begin = end;
  for (const std::size_t policy : policies) {
    Entry& entry = entries_[policy];
    if (!entry.refused.empty()) continue;
    begin = std::min(begin, entry.trials.size());
    runs.runners.push_back({.policy = policy, .first = entry.trials.size()});
    entry.trials.resize(std::max(end, entry.trials.size()));
  }
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
          done[trial - from] = run_trial(runs, trial, counted);
      }
    });
    for (const Status& status : done) GOODPUT_TRY_STATUS(status);
  }
  return settle(runs);
}

Status TrialRuns::run_trial(Round& round, std::size_t trial, const OnRun& on_run) {
  for (Round::Runner& runner : round.runners) {
    if (!round.wants(runner, trial)) continue;
    Entry& entry = entries_[runner.policy];
    GOODPUT_TRY(JobResult result,
                run_policy(*scenario_, inputs_, *entry.prepared, seed_, first_trial_ + trial, nullptr));
    if (result.policy_failure.empty()) {
      entry.trials[trial] = summarize(result, scale_);
    } else {
      round.note_failure(runner, trial, std::move(result.policy_failure));
    }
    on_run();
  }
  return Ok{};
}

Status TrialRuns::settle(const Round& round) {
  for (const Round::Runner& runner : round.runners) {
    if (runner.failure.empty()) continue;
    entries_[runner.policy].refused = runner.failure;
    entries_[runner.policy].trials.clear();
  }
  return check_some_run();
}

}  // namespace goodput
