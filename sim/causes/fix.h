// Fixes by name: boxes of ops that become ideal, and remedies of causes that no box expresses.
//
//   cause=launch-delay     every op starts when what it waits for has ended
//   cause=stage-partition  the passes of each stage are scaled so that all stages take the mean over the
//   stages,
//                          separately for forward and backward passes
//   cause=sequence-length  all micro-batches of a step have the step's mean work
//   cause=gc-pauses        passes with pauses take the time expected from the other passes of their pairs
//   cause=communication-flap  the slow transfers of the worst place take the median of their kind
//   cause=slow-link        messages of slow links take their usual time
//   cause=worker-fault     the passes of all slow workers take as long as those of their healthy peers
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/causes/patterns.h"
#include "sim/causes/remedy.h"

namespace goodput {

// The causes with remedies of their own.
[[nodiscard]] std::span<const std::string_view> remedied_causes();

// Applies all selectors at once: those of sim/recording/instance_set.h, and `cause=NAME`. Fails on bad
// selectors, and if the recording lacks what a remedy needs. `patterns`: null for a job that is no pipeline
// of passes, which has none of these causes.
Result<Remedy> remedy_of(const AnalysedJob& job, const Patterns* patterns,
                         const std::vector<std::string>& selectors);

}  // namespace goodput
