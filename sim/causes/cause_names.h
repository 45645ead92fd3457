// What people call the causes of stragglers.
#pragma once

#include <string_view>

namespace goodput {

// `slow workers` for worker-fault: the plural, or what cannot be counted. A name that is not of a RootCause
// comes back as it is.
[[nodiscard]] std::string_view plain_cause_name(std::string_view cause);

}  // namespace goodput
