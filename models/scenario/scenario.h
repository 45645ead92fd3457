// An experiment: a job, the nodes it may have and what happens to them, and the policies that compete.
//
// configs/scenarios/*.json (format: docs/formats/scenarios.md). Strict: unknown keys and values out of range
// are errors that name file and JSON pointer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/failure/failure_models.h"
#include "models/job/job_model.h"
#include "models/plan/training_plan.h"
#include "models/policy/policy.h"
#include "models/policy_process/policy_command.h"
#include "models/routing/job_routing.h"
#include "models/scenario/pools.h"
#include "sim/base/errors.h"
#include "sim/config/changes.h"
#include "sim/config/config.h"
#include "sim/job/job_engine.h"

namespace goodput {

inline constexpr config::Kind kScenarioFiles{"scenarios", "scenario"};

// How an expert's tokens differ from GPU to GPU.
struct RankRouting {
  double spread = 0;     // RankSpread::spread
  std::string folder{};  // with the raw logs of an iteration, one per rank; empty: `spread`
};

// Where the routing of the job's MoE layers comes from.
struct RoutingSource {
  std::string file{};    // a recorded trace; empty: `model`
  std::string model{};   // configs/routing/*.json, path or name; synthesized, also where there is no `file`
  std::string layers{};  // of the recording, one a MoE layer: "0-11"; empty: the first ones
  std::int64_t top_at_iteration = 201;   // its busiest experts at this iteration stand for the model's
  AfterEnd after_end = AfterEnd::kHold;  // of the recording
  // Without file and model, for ever: shares ~ 1 / rank^skew; or, unless it is 0, one expert of a layer with
  // hot_load times an even share, and the others alike.
  double skew = 0;
  double hot_load = 0;
  std::optional<RankRouting> per_rank{};  // none: all GPUs route alike
  [[nodiscard]] bool is_constant() const { return file.empty() && model.empty(); }
};

// A policy under the name that results call it by.
struct ScenarioPolicy {
  std::string name{};
  std::string policy{};   // of recovery_policies(); the name, unless "policy" says otherwise; kCommandPolicy
  std::string options{};  // JSON, as in the file, without "policy"
  config::KeyNotes unused{};
  std::optional<PolicyCommand> command{};  // of kCommandPolicy, and of no other
};

struct Scenario {
  std::string file{};
  std::vector<config::Source> sources{};  // files that it was read from
  TrainingPlan plan{};                    // as it is written
  std::int32_t nodes = 0;                 // the most the job uses; 0: those that the plan's GPUs take
  std::int32_t max_training_nodes = 0;    // at a time, by policies that do not grow; 0: as many as there are
  std::optional<RoutingSource> routing{};
  std::vector<FailureConfig> failures{};  // of all nodes; none: of its own in each of `pools`
  std::vector<PoolConfig> pools{};
  std::int64_t samples = 0;  // the job ends with so many; 0: no such goal
  std::int64_t steps = 0;    // likewise
  std::int64_t tokens = 0;   // with the first samples that cover so many; 0: no such goal
  SimDuration duration{};    // it is stopped after so long; 0: it is not
  SimDuration deadline{};    // by which the goal is to be reached: results say how likely; 0: none
  std::int64_t trials = 1;
  JobStart start = JobStart::kCold;
  BatchRule batch = BatchRule::kFixed;
  std::optional<double> usd_per_node_hour{};  // none: the prices of the trace, if it has any
  Billing billing = Billing::kHeld;
  double usd_per_tb_written = 0;  // to storage, by checkpoints
  std::vector<ScenarioPolicy> policies{};
  std::vector<PolicyCommand> commands{};  // of policies that are programs: given, not read
  Tier tier = Tier::kMeasured;
  config::KeyNotes unused{};  // keys without effect or with a new name, except those of the policies

  [[nodiscard]] JobGoal goal() const;
  // Samples, steps or tokens to reach; a run that is only stopped has none.
  [[nodiscard]] bool has_goal() const { return samples > 0 || steps > 0 || tokens > 0; }
  // The fewest samples that cover `tokens`.
  [[nodiscard]] std::int64_t samples_of_tokens() const;
  [[nodiscard]] std::int32_t most_nodes() const { return nodes > 0 ? nodes : plan_nodes(); }
  [[nodiscard]] std::int32_t plan_nodes() const;  // that the plan's GPUs take
  // What the policies are to train.
  [[nodiscard]] JobTerms terms() const;
};

// Reads a scenario with some values changed, also of the files that it names, and checks all that can be
// without its traces. `commands`: of policies that run besides, with the options that the scenario has under
// their names.
Result<Scenario> read_scenario(const std::string& path, const std::vector<config::Change>& changes,
                               const config::Library& library = {},
                               const std::vector<PolicyCommand>& commands = {});

// The options of a policy, read, not yet prepared. Errors name file and pointer.
Result<std::unique_ptr<PolicySetup>> make_policy(const Scenario& scenario, const ScenarioPolicy& policy);

// What of the scenario decides whether an option of a policy moves anything.
[[nodiscard]] PolicyContext policy_context(const Scenario& scenario);

// What to note about the keys of the scenario and of the files that it names.
[[nodiscard]] config::KeyNotes key_notes(const Scenario& scenario);
// What is in the files of all_failures(), by model: some keys move nothing for that.
void note_sources(Scenario& scenario, const FailureSources& sources);

// An object: options by name. Those of `commands` may have any, and follow the others.
[[nodiscard]] config::Value policies_value(std::vector<ScenarioPolicy>& policies,
                                           const std::vector<PolicyCommand>& commands = {});

[[nodiscard]] config::Fields config_fields(Scenario& scenario);
[[nodiscard]] config::Fields config_fields(RoutingSource& routing);
[[nodiscard]] config::Fields config_fields(RankRouting& ranks);
[[nodiscard]] Status config_finish(Scenario& scenario);

}  // namespace goodput
