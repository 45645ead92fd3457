// What people call the causes of stragglers.
#pragma once

#include <string_view>

namespace goodput {

// `slow workers` for worker-fault. Returns a name that no RootCause has unchanged.
[[nodiscard]] std::string_view plain_cause_name(std::string_view cause);

}  // namespace goodput
