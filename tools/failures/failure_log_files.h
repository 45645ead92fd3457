// Failure logs where a failure preset is expected.
#pragma once

#include <memory>

#include "sim/config/library.h"

namespace goodput {

// Refuses them, and says how to make a preset: a log alone does not say how many nodes there are.
[[nodiscard]] std::shared_ptr<config::ForeignFiles> failure_log_files();

}  // namespace goodput
