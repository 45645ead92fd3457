// The numbers of a trial, as tables of trials have them. docs/formats/simulate.md says what they are.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/scenario/trial_summary.h"

namespace goodput {

// A number of every trial, or of those that have it.
struct TrialColumn {
  std::string name{};
  std::function<std::optional<double>(const TrialSummary&)> of{};
};

// `own`: names of metrics of the policies' own.
[[nodiscard]] std::vector<TrialColumn> trial_columns(const std::vector<std::string>& own);

// The metrics of its own that the policy of these trials has.
[[nodiscard]] std::vector<std::string> own_metrics(std::span<const TrialSummary> trials);

}  // namespace goodput
