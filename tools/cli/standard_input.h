// `-` among the inputs: what stands on stdin.
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "tools/cli/options.h"

namespace goodput {

// Puts config::kStdinFile for `-` in every input, by which messages and results call it, and lets stdin be
// read more than once from its beginning, as readers that look at a file's first bytes do: a pipe is read to
// its end, into memory. Fails when `-` is given twice, or stdin cannot be read.
Status take_stdin(DeclaredOptions& declared);

}  // namespace goodput
