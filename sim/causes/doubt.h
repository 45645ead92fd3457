// Reasons not to blame anybody: what the recording shows does not fit the rules that the replay follows.
#pragma once

#include <optional>
#include <string>

#include "sim/causes/remedy.h"

namespace goodput {

// A replay that differs more from the recording is not to be trusted; the paper drops such jobs.
inline constexpr double kTrustedDiscrepancy = 0.05;

struct Doubt {
  std::string why;     // "its replay takes 2.58x as long as the recording; ..."
  std::string remedy;  // what to record instead, in the imperative
};

// Backward passes that contain gradient reductions, and with them the waiting for other replicas; or a replay
// that differs from the recording by kTrustedDiscrepancy or more. Looks at a few steps only.
[[nodiscard]] std::optional<Doubt> find_doubt(const AnalysedJob& job);

}  // namespace goodput
