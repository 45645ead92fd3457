// Which of two policies of a simulation does better by one metric, and how sure that is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/scenario/paired_comparison.h"
#include "models/scenario/simulation.h"
#include "sim/base/errors.h"

namespace goodput {

struct PolicyComparison {
  std::string a{};
  std::string b{};
  TrialMetric metric = TrialMetric::kSamplesPerHour;
  std::optional<PairedComparison> values{};
  std::string why_not{};  // there are no values

  // "a" or "b"; empty while the trials do not decide.
  [[nodiscard]] std::string better() const;
};

// Fails, with did-you-mean, on policies that the simulation does not have, and on one that is to be compared
// with itself. That one of them has no such value is no failure, but what there is to say.
[[nodiscard]] Result<PolicyComparison> compare_policies(const Simulation& simulation, std::string_view a,
                                                        std::string_view b, TrialMetric metric);

}  // namespace goodput
