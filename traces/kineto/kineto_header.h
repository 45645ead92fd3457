// What stands around the events of a torch.profiler (Kineto) file.
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

// `kept` has the values of these keys that are in the file.
[[nodiscard]] Result<KinetoHeader> read_kineto_header(const std::string& file,
                                                      std::span<const JsonKeptValue> kept);

}  // namespace goodput
