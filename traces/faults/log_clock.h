// The times of a failure log: all dates, or all counted from the start of the recording.
#pragma once

#include <optional>

#include "sim/base/errors.h"
#include "sim/base/units.h"
#include "sim/nodes/fault_log.h"
#include "traces/faults/fault_columns.h"
#include "traces/faults/log_table.h"
#include "traces/faults/log_time.h"

namespace goodput {

class LogClock {
 public:
  // Notes the first and the last time in `log`.
  explicit LogClock(FailureLog& log) : log_(log) {}

  // Fails if the time is not of the kind of those before it.
  Result<SimTime> read(const LogTable& table, const LogTable::Row& row, const LogColumn& column);

 private:
  FailureLog& log_;
  std::optional<LogTime::Form> form_;  // of the dates of this file
};

}  // namespace goodput
