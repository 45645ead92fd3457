// One event of a Chrome trace of training ops (as NDTimeline writes them), and the row it stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sim/ops/op_trace.h"
#include "traces/op/trace_intake.h"

namespace simdjson::dom {
class element;
}

namespace goodput {

enum class SkippedEvent {
  kNotAnOp,        // a phase without a duration: names of threads, counters, ...
  kIgnoredMetric,  // traces/op/ndtimeline_names.h
};

struct OpEvent {
  OpRow row;
  bool lacks_chunks = false;  // there is no mc, mb_id or gmc, or it is null
};

// An event of a name that is no metric of ours. The name lives as long as the event.
struct UnknownEvent {
  std::string_view name;
  std::optional<std::int64_t> step;  // if it says one
};

// One of a pair of events. `name` lives as long as the event; an end may have none.
struct SpanEdge {
  bool begins = false;
  std::string lane;  // of events that pair
  std::string_view name;
  double at_us = 0;
  std::optional<std::int64_t> step;  // if it says one
};

// What an event turned out to be: an op, something to skip, half an op, or what is wrong with it.
using ChromeEvent = std::variant<OpEvent, SkippedEvent, UnknownEvent, SpanEdge, std::string>;

// Times that are null or absent are NaN unless the mode is strict.
[[nodiscard]] ChromeEvent read_chrome_event(const simdjson::dom::element& event, TraceIntake::Mode mode);

// The op of a pair of events, the second of which ends it `at_us`. What the first does not say about the op
// is looked for in the second. Its name is known.
[[nodiscard]] ChromeEvent read_chrome_pair(const simdjson::dom::element& begin,
                                           const simdjson::dom::element& end, double at_us,
                                           TraceIntake::Mode mode);

// The event of a row as one line of JSON, without a line end. Reading it gives the row back, bit for bit.
void append_chrome_event(const OpRow& row, std::string& text);

}  // namespace goodput
