// A scenario of a few seconds' work for tests: ten nodes of which one is lost every five minutes.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace goodput::testing {

[[nodiscard]] nlohmann::json small_scenario();

}  // namespace goodput::testing
