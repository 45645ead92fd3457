// Results of commands (docs/formats/json-results.md), read back for a page.
#pragma once

#include <string>

#include "sim/base/errors.h"
#include "tools/page/page_result.h"

namespace goodput {

// Fails on what is not readable, larger than a result gets, no JSON, or no result of a schema that this
// version knows how to read: `goodput.NAME/1`. The page calls it by `name`.
[[nodiscard]] Result<PageResult> read_result_file(const std::string& file, std::string name);

}  // namespace goodput
