// JSON lists of objects as tables: [{...}, ...], {"faults": [{...}, ...]}, or an object per line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "traces/faults/log_table.h"

namespace goodput {

// Keys are columns. Those of nested objects are joined by dots ("time.start"), lists of texts by commas; null
// is "".
Result<LogTable> table_of_json(std::string_view text, const std::string& file);

// The keys in the beginning of such a file.
[[nodiscard]] std::vector<std::string> keys_of_json_head(std::string_view head);

}  // namespace goodput
