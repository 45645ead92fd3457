#include "models/sweep/replication.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr double kLeastGrowth = 1.25;  // of a round
constexpr double kMostGrowth = 2;
constexpr double kMargin = 1.05;  // of what the scatter so far asks for

// The trials after which the interval may be narrow enough: its width falls with their square root.
std::int64_t next_trials(std::int64_t trials, double excess, std::int64_t most) {
  const double growth = std::clamp(kMargin * excess * excess, kLeastGrowth, kMostGrowth);
  return std::min(most, static_cast<std::int64_t>(std::ceil(static_cast<double>(trials) * growth)));
}

// Some policies, and what of their trials the rule is about.
class RuleRounds {
 public:
  RuleRounds(const Replication& replication, TrialRuns& runs) : replication_(replication), runs_(runs) {}

  // Of policies that run. `estimate`: () -> optional<Estimate> of their trials. What was not reached, or
  // nothing.
  template <typename EstimateOf>
  Result<std::string> run(std::span<const std::size_t> policies, const EstimateOf& estimate) {
    const StoppingRule& rule = *replication_.until;
    while (true) {
      const bool has_failed = std::any_of(policies.begin(), policies.end(), [this](std::size_t policy) {
        return !runs_.refusal(policy).empty();
      });
      if (has_failed) return std::string{};  // which says enough
      const std::optional<Estimate> reached = estimate();
      if (reached && rule.is_reached(*reached)) return std::string{};
      const auto trials = static_cast<std::int64_t>(runs_.trials(policies.front()).size());
      if (!reached || trials >= replication_.max_trials)
        return fmt::format("after {} trials, {}", trials, rule.shortfall(reached));
      GOODPUT_TRY_STATUS(
          runs_.extend(policies, next_trials(trials, rule.excess(*reached), replication_.max_trials), 1));
    }
  }

 private:
  const Replication& replication_;
  TrialRuns& runs_;
};

Status reach_ratio(const Replication& replication, TrialRuns& runs, std::vector<std::string>& not_reached) {
  const StoppingRule& rule = *replication.until;
  GOODPUT_TRY(const auto pair, find_rule_policies(rule.policies(), runs.scenario().policies));
  const auto [a, b] = pair;
  if (!runs.refusal(a).empty() || !runs.refusal(b).empty()) return Ok{};  // which says enough
  GOODPUT_TRY(not_reached[a], RuleRounds(replication, runs).run(std::vector{a, b}, [&, a = a, b = b] {
    return rule.estimate(runs.trials(a), runs.trials(b));
  }));
  not_reached[b] = not_reached[a];
  return Ok{};
}

}  // namespace

Result<std::pair<std::size_t, std::size_t>> find_rule_policies(const std::string& policies,
                                                               std::span<const ScenarioPolicy> known) {
  const auto number_of = [known](std::string_view name) {
    const auto found =
        std::find_if(known.begin(), known.end(), [name](const auto& policy) { return policy.name == name; });
    return static_cast<std::size_t>(found - known.begin());
  };
  const std::string_view text = policies;
  for (std::size_t slash = text.find('/'); slash != std::string_view::npos;
       slash = text.find('/', slash + 1)) {
    const std::size_t a = number_of(text.substr(0, slash));
    const std::size_t b = number_of(text.substr(slash + 1));
    if (a < known.size() && b < known.size() && a != b) return std::pair{a, b};
  }
  std::vector<std::string_view> names;
  for (const ScenarioPolicy& policy : known) names.push_back(policy.name);
  return Error{fmt::format(
      "expected two of the policies that run, separated by a slash, found {}; the policies are {}",
      on_one_line(policies), fmt::join(names, ", "))};
}

Result<std::vector<std::string>> replicate(const Replication& replication, TrialRuns& runs) {
  std::vector<std::string> not_reached(runs.policies());
  const bool has_rule = replication.until.has_value();
  const std::int64_t first = has_rule
                                 ? std::clamp(replication.trials, kLeastRuleTrials, replication.max_trials)
                                 : replication.trials;
  GOODPUT_TRY_STATUS(runs.extend(first, 1));
  if (!has_rule) return not_reached;
  if (!replication.until->policies().empty()) {
    GOODPUT_TRY_STATUS(reach_ratio(replication, runs, not_reached));
    return not_reached;
  }
  for (std::size_t policy = 0; policy < runs.policies(); ++policy) {
    if (!runs.refusal(policy).empty()) continue;
    GOODPUT_TRY(not_reached[policy],
                RuleRounds(replication, runs).run(std::vector{policy}, [&runs, &replication, policy] {
                  return replication.until->estimate(runs.trials(policy));
                }));
  }
  return not_reached;
}

}  // namespace goodput
