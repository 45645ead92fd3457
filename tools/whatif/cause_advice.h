// What to do about a likely cause, in a line for people.
#pragma once

#include <string>

#include "sim/causes/root_cause.h"
#include "sim/recording/recording.h"

namespace goodput {

[[nodiscard]] std::string advice(const RootCause& cause, const Recording& recording);

}  // namespace goodput
