// One event of a Chrome trace of training ops (as NDTimeline writes them), and the row it stands for.
#pragma once

#include <string>
#include <variant>

#include "sim/ops/op_trace.h"

namespace simdjson::dom {
class element;
}

namespace goodput {

enum class SkippedEvent {
  kNotAnOp,        // a phase other than "X": names of threads, counters, ...
  kIgnoredMetric,  // traces/op/ndtimeline_names.h
};

// What an event turned out to be: a row, something to skip, or what is wrong with it.
using ChromeEvent = std::variant<OpRow, SkippedEvent, std::string>;

[[nodiscard]] ChromeEvent read_chrome_event(const simdjson::dom::element& event);

// The event of a row as one line of JSON, without a line end. Reading it gives the row back, bit for bit.
void append_chrome_event(const OpRow& row, std::string& text);

}  // namespace goodput
