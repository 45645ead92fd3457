#include "traces/faults/event_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "sim/base/text.h"
#include "traces/faults/letter_case.h"

namespace goodput {
namespace {

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

EventWord event_word(std::string_view text) {
  constexpr std::string_view kStarts[] = {
      "start",   "begin",     "down",   "fail", "failed",   "failure", "fault",   "crash",   "remove",
      "removed", "lost",      "firing", "open", "opened",   "drain",   "offline", "problem", "error",
      "trigger", "triggered", "outage", "set",  "triggers", "dead",    "broken",  "alert",   "unavailable"};
  constexpr std::string_view kEnds[] = {
      "end",   "ended",     "stop",   "up",       "repair",   "repaired",  "recover",
      "add",   "recovered", "added",  "recovery", "resolved", "ok",        "close",
      "idle",  "closed",    "online", "resume",   "resumed",  "available", "cleared",
      "clear", "returned",  "return", "restored", "fixed",    "healthy",   "resolve"};
  const std::string lower = in_lower_case(text);
  // The last word decides: "fault_start", "node down".
  const std::size_t last = lower.find_last_of(" _-.");
  const std::string word = last == std::string::npos ? lower : lower.substr(last + 1);
  if (is_one_of(word, kStarts)) return EventWord::kStart;
  return is_one_of(word, kEnds) ? EventWord::kEnd : EventWord::kUnknown;
}

Result<std::optional<LogColumn>> find_event_column(const LogTable& table) {
  for (const std::string_view name : {"eventtype", "event", "action", "state", "status", "transition"}) {
    const auto column = find_column_called(table.columns, name);
    if (!column) continue;
    const auto has = [&](const LogTable::Row& row, EventWord word) {
      return event_word(row.fields[column->index]) == word;
    };
    const auto& rows = table.rows;
    if (std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return has(row, EventWord::kEnd); }))
      continue;
    if (std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return has(row, EventWord::kStart); }))
      continue;
    const auto odd = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto& row) { return has(row, EventWord::kUnknown); });
    if (odd == rows.end()) return std::optional(*column);
    return table.error(
        *odd, fmt::format("{} is {}, but other rows start or end faults; remove rows that do neither",
                          column->name, in_quotes(odd->fields[column->index])));
  }
  return std::optional<LogColumn>{};
}

}  // namespace goodput
