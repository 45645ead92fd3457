// The members of a torch.profiler (Kineto) file other than its events.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "traces/io/json_windows.h"
#include "traces/kineto/kineto_events.h"

namespace goodput {

// The keys of the file that read_kineto_header() needs.
[[nodiscard]] std::span<const std::string_view> kineto_header_keys();

// `kept`: the values of these keys, as far as the file has them.
[[nodiscard]] Result<KinetoHeader> read_kineto_header(const std::string& file,
                                                      std::span<const JsonKeptValue> kept);

}  // namespace goodput
