// Reasons to blame no worker: the recording contradicts the rules that the replay follows.
#pragma once

#include <optional>
#include <string>

#include "sim/causes/remedy.h"

namespace goodput {

// A replay that differs from the recording by more cannot be trusted; the paper drops such jobs.
inline constexpr double kTrustedDiscrepancy = 0.05;

struct Doubt {
  std::string why;     // "its replay takes 2.58x as long as the recording; ..."
  std::string remedy;  // what to record instead, in the imperative
};

// Finds backward passes that contain gradient reductions, and so the waiting for other replicas; else a
// replay that differs from the recording by kTrustedDiscrepancy or more. Checks a few steps only.
[[nodiscard]] std::optional<Doubt> find_doubt(const AnalysedJob& job);

}  // namespace goodput
