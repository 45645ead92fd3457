#include "models/scenario/policy_comparison.h"

#include <fmt/format.h>

#include <vector>

#include "sim/base/registry.h"

namespace goodput {
namespace {

// Why trials of a policy that runs have no value.
std::string why_unknown(const PolicyOutcome& outcome, TrialMetric metric) {
  if (!outcome.refused.empty()) return fmt::format("{} cannot run the job", outcome.name);
  if (metric == TrialMetric::kJct) {
    return fmt::format("{} finished {} of {} trials; compare {} instead", outcome.name, outcome.finished,
                       outcome.trials, info(TrialMetric::kSamplesPerHour).name);
  }
  if (metric == TrialMetric::kDeadline && !outcome.deadline) return "the scenario has no deadline_s";
  if (metric == TrialMetric::kDeadline) {
    return fmt::format("{}: the recording of the nodes ends before the deadline in {} of {} trials",
                       outcome.name, outcome.deadline->unknown, outcome.trials);
  }
  if (metric == TrialMetric::kSamplesPerHour)
    return fmt::format("{} stopped for good in a run without an end", outcome.name);
  return fmt::format("{} has no {}", outcome.name, info(metric).name);
}

}  // namespace

std::string PolicyComparison::better() const {
  if (!values || !values->decides) return "";
  const bool is_a_more = values->difference.mean > 0;
  return is_a_more == (info(metric).better == Better::kMore) ? a : b;
}

Result<PolicyComparison> compare_policies(const Simulation& simulation, std::string_view a,
                                          std::string_view b, TrialMetric metric) {
  const std::vector<std::string_view> names = names_of(simulation.policies);
  GOODPUT_TRY(const std::size_t first, index_of_name(names, "policy", a));
  GOODPUT_TRY(const std::size_t second, index_of_name(names, "policy", b));
  if (first == second) return Error{fmt::format("{} cannot be compared with itself", a)};
  PolicyComparison comparison{std::string(a), std::string(b), metric, {}, {}};
  std::vector<std::vector<double>> values;
  for (const std::size_t policy : {first, second}) {
    const bool runs = simulation.policies[policy].refused.empty();
    auto of_policy = runs ? values_of(metric, simulation.trials[policy]) : std::nullopt;
    if (!of_policy) {
      comparison.why_not = why_unknown(simulation.policies[policy], metric);
      return comparison;
    }
    values.push_back(*std::move(of_policy));
  }
  comparison.values = compare_paired(values.front(), values.back());
  return comparison;
}

}  // namespace goodput
