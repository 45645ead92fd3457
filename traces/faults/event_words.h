// Lists with a row for the start of a fault and another one for its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/errors.h"
#include "traces/faults/fault_columns.h"
#include "traces/faults/log_table.h"

namespace goodput {

enum class EventWord : std::uint8_t { kStart, kEnd, kUnknown };

// "fault_start", "DOWN", "remove" start a fault; "fault_end", "UP", "add", "resolved" end one.
[[nodiscard]] EventWord event_word(std::string_view text);

// The column called event, event_type, state, status or action, if some of its values end faults. Fails if
// others are neither starts nor ends.
Result<std::optional<LogColumn>> find_event_column(const LogTable& table);

}  // namespace goodput
