#include "tools/plan/scaled_runs.h"

#include <algorithm>
#include <array>
#include <utility>

namespace goodput {

Result<std::span<const TrialSummary>> ScaledRuns::trials(std::size_t rival, std::int64_t count) {
  std::unique_ptr<Contenders>& made = made_[rival];
  if (!made) {
    const Rival& of = (*rivals_)[rival];
    GOODPUT_TRY(const std::vector<ScenarioPolicy> policies, competing_policies(question_));
    const auto policy = std::find_if(policies.begin(), policies.end(),
                                     [&of](const ScenarioPolicy& one) { return one.name == of.policy; });
    GOODPUT_CHECK(policy != policies.end(), "a rival's policy is one of the question's");
    const std::array entries = {Entry{of.choice, {*policy}, {of.interval}}};
    GOODPUT_TRY(Contenders one, Contenders::make(question_, entries, rules_));
    made = std::make_unique<Contenders>(std::move(one));
  }
  if (made->size() == 0) return std::span<const TrialSummary>{};
  GOODPUT_TRY_STATUS(made->run(std::array{std::size_t{0}}, count));
  const auto all = made->trials(0);
  return all.first(std::min(all.size(), static_cast<std::size_t>(count)));
}

}  // namespace goodput
