// Launch scripts and model configs of other programs in place of plans and models of ours.
#pragma once

#include <memory>

#include "models/launch/import_launch.h"
#include "sim/base/errors.h"
#include "sim/config/library.h"

namespace goodput {

// Reads them as `goodput import plan` does without options, and notes what it assumed.
[[nodiscard]] std::shared_ptr<config::ForeignFiles> launch_files();

// What the files do not say, in one line that says which options give it. REQUIRES: something is missing.
[[nodiscard]] Error missing_values(const launch::ImportedLaunch& imported, const std::string& file);

}  // namespace goodput
