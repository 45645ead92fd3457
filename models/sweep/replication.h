// How often a point of a sweep is run: so many times, or until its results are exact enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/scenario/trial_runs.h"
#include "models/sweep/stopping_rule.h"
#include "sim/base/errors.h"

namespace goodput {

struct Replication {
  std::int64_t trials = 1;  // of every policy; with a rule at least kLeastRuleTrials
  std::optional<StoppingRule> until{};
  std::int64_t max_trials = 1;  // with a rule
};

// The two policies whose ratio a rule is about: "A/B", of which either may have a slash in its name. Fails
// with the names there are.
Result<std::pair<std::size_t, std::size_t>> find_rule_policies(const std::string& policies,
                                                               std::span<const ScenarioPolicy> known);

// Runs the trials, in rounds that grow until the rule is reached, for each policy that can run by itself. The
// result is, by policy, what of the rule was not reached; empty: nothing. Trials depend on their number
// alone, so that more of them never change what is there.
Result<std::vector<std::string>> replicate(const Replication& replication, TrialRuns& runs);

}  // namespace goodput
