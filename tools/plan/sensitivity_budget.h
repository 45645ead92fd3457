// How many trials the sensitivity of a plan's answer can afford, whatever the machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "models/scenario/trial_summary.h"

namespace goodput {

// How much work a run was, in units that take roughly as long for any job: decisions of the policy, each of
// which looks at its nodes.
[[nodiscard]] double work_of(const TrialSummary& trial, std::int32_t nodes);

struct SensitivitySize {
  std::size_t rivals = 0;   // the best answer among them
  std::int64_t trials = 0;  // of each at each value
};

// The largest that is no more work than `contest_work`, that of the contest, or than six seconds' worth on
// one processor. `run_work`: of one run of a rival.
[[nodiscard]] SensitivitySize sensitivity_size(std::size_t inputs, double contest_work, double run_work);

}  // namespace goodput
