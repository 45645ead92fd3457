#include "traces/faults/log_clock.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"

namespace goodput {

Result<SimTime> LogClock::read(const LogTable& table, const LogTable::Row& row, const LogColumn& column) {
  const std::string& text = row.fields[column.index];
  const auto time = parse_log_time(text, column.unit, column.name);
  if (!time) return table.error(row, time.error().what);
  const bool is_first = log_.first > log_.last;
  if (!is_first && time->is_date() != log_.has_dates) {
    return table.error(
        row,
        fmt::format("{} is {}, but times before it {}; use one form of time in all files", column.name,
                    in_quotes(text), log_.has_dates ? "are dates" : "count from the start of the recording"));
  }
  const bool has_zone = time->form != LogTime::Form::kLocal;  // numbers since 1970 are in UTC
  if (form_ && has_zone != (*form_ != LogTime::Form::kLocal)) {
    return table.error(row,
                       fmt::format("{} is {}, but other times of the file {} a time zone; give all or none a "
                                   "time zone",
                                   column.name, in_quotes(text), has_zone ? "lack" : "have"));
  }
  form_ = time->form;
  log_.has_dates = time->is_date();
  log_.first = std::min(log_.first, time->time);
  log_.last = std::max(log_.last, time->time);
  return time->time;
}

}  // namespace goodput
