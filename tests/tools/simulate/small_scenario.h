// A scenario of a few seconds' work for tests: ten nodes of which one is lost every five minutes.
#pragma once

#include "sim/base/json_fwd.h"

namespace goodput::testing {

[[nodiscard]] Json small_scenario();

}  // namespace goodput::testing
