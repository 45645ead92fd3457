// Fixes by name: boxes of ops that become ideal, and remedies of causes that no box expresses.
//
//   cause=launch-delay     every op starts when what it waits for has ended
//   cause=stage-partition  the passes of all stages take the same time: those of each stage are scaled to the
//                          mean over the stages, forwards and backwards for themselves, so that a step has
//                          the same work in all
//   cause=sequence-length  all micro-batches of a step are the same work, of the step's mean
//   cause=gc-pauses        passes that stood still take what the other ones of their pairs let expect
//   cause=communication-flap  the slow transfers of the worst place take the median of their kind
//   cause=slow-link        messages of slow links take their usual time
//   cause=worker-fault     the passes of all slow workers take what those of their healthy peers do
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

// All of the selectors at once: sim/recording/instance_set.h, or `cause=NAME`. Fails on bad selectors, and
// on a remedy for which the recording has nothing to go by.
Result<Remedy> remedy_of(const AnalysedJob& job, const Patterns& patterns,
                         const std::vector<std::string>& selectors);

}  // namespace goodput
