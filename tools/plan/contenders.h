// The contenders of a plan's question, each a scenario's policy, and their trials.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/planner/plan_question.h"
#include "models/planner/question_scenario.h"
#include "models/scenario/observations.h"
#include "models/scenario/trial_runs.h"
#include "sim/base/errors.h"
#include "tools/simulate/scenario_inputs.h"
#include "tools/simulate/shared_inputs.h"

namespace goodput {

// Nodes and plan, and all policies that may run on them.
struct Setting {
  PlannedNodes choice{};
  Scenario scenario{};
  ScenarioInputs inputs{};
  std::optional<TrialRuns> runs{};  // refers to the others
};

// Policies that may run on a choice of nodes and plan, and how often they may save. Intervals at which
// storage would be busier than the question's storage_duty are lengthened, and those that are then equal are
// one.
struct Entry {
  PlannedNodes choice{};
  std::vector<ScenarioPolicy> policies{};
  std::vector<double> intervals{};  // between checkpoints, as multiples of the optimal one
};

struct Contender {
  std::size_t entry = 0;
  std::size_t setting = 0;
  std::size_t policy = 0;           // of the setting's scenario
  std::string base{};               // the policy as the question calls it
  std::int64_t interval_steps = 0;  // between checkpoints; 0: it has no such option
  double interval = 1;              // the same against the optimal one
};

// Of a policy that cannot run, or does not fit into memory.
struct Refusal {
  std::int64_t choices = 0;  // of plan and nodes on which it is none
  std::int64_t of = 0;       // all on which it was to run
  std::string reason{};      // the first
};

struct ContenderRules {
  std::uint64_t seed = 0;
  unsigned jobs = 1;
  SimDuration most{};  // a job that is not done by then never is
  // Plans whose steps are timed, and recordings: shared with other contenders. Null: by these alone.
  std::shared_ptr<SharedInputs> shared{};
};

// What is read and timed once for all settings with that plan. For one thread. REQUIRES: rules.shared.
Result<std::unique_ptr<Setting>> read_setting(const PlanQuestion& question, const PlannedNodes& choice,
                                              const ContenderRules& rules);
// The policy at its optimal interval between checkpoints. Fails if it cannot run there, or does not fit into
// memory. For any number of threads.
Result<std::unique_ptr<PreparedPolicy>> prepare_policy(const PlanQuestion& question,
                                                       const ScenarioPolicy& policy, const Setting& setting);
// Why it cannot: with the key of the policy's options, or the place in the plan, that is wrong.
[[nodiscard]] std::string refusal_text(const Error& error);

class Contenders {
 public:
  // One for every entry, policy and interval. What cannot run, or does not fit into memory, is none, and
  // counted. Errors: of what the question names.
  static Result<Contenders> make(const PlanQuestion& question, std::span<const Entry> entries,
                                 const ContenderRules& rules);

  [[nodiscard]] std::size_t size() const { return contenders_.size(); }
  [[nodiscard]] const Contender& operator[](std::size_t i) const { return contenders_[i]; }
  [[nodiscard]] const Setting& setting(std::size_t i) const { return *settings_[contenders_[i].setting]; }
  // Nodes that a trial of some contender lost.
  [[nodiscard]] double losses_per_run() const { return losses_per_run_; }
  // Nodes that the job holds, whatever it does with them.
  [[nodiscard]] std::int32_t nodes_held(std::size_t i) const { return setting(i).scenario.nodes; }
  [[nodiscard]] std::span<const TrialSummary> trials(std::size_t i) const {
    return setting(i).runs->trials(contenders_[i].policy);
  }
  // Of so many trials of each: what the setting that allows the fewest has to say.
  [[nodiscard]] Observations observations(std::int64_t trials) const;
  // By policy.
  [[nodiscard]] const std::map<std::string, Refusal>& refused() const { return refused_; }

  // Afterwards each of these has so many trials. `on_run`: after every run, one call at a time.
  Status run(std::span<const std::size_t> contenders, std::int64_t trials,
             const TrialRuns::OnRun& on_run = {});

 private:
  Contenders(unsigned jobs, std::shared_ptr<SharedInputs> shared) : jobs_(jobs), shared_(std::move(shared)) {}

  unsigned jobs_;
  std::shared_ptr<SharedInputs> shared_;  // which settings refer to
  std::vector<std::unique_ptr<Setting>> settings_{};
  std::vector<Contender> contenders_{};
  std::map<std::string, Refusal> refused_{};
  double losses_per_run_ = 0;
};

}  // namespace goodput
