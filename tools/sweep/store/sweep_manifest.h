// DIR/sweep.json: what the folder is a sweep of, written once and whole by whoever comes first.
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "tools/sweep/store/sweep_folder.h"

namespace goodput {

// Makes the folder one of this sweep, where it is not yet. True: this call did it; false: it was one. Any
// number of processes may call it at once: one of them makes it, all others see the same. Fails on a folder
// of another sweep, of another version, with other files in it, and on what is no folder.
Result<bool> claim_folder(const std::string& dir, const SweepManifest& manifest);

}  // namespace goodput
