// The ops of a Chrome trace that are pairs of events: what has begun and waits for its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace goodput {

struct SpanEnd {
  std::string event;  // as JSON
  double at_us = 0;
  std::uint64_t number = 0;  // in the file
  std::optional<std::int64_t> step;
};

struct OpenSpan {
  std::string name;
  std::string begin_event;   // as JSON; empty: no op, and its end is of no interest either
  std::uint64_t number = 0;  // of the begin event in the file
  std::optional<std::int64_t> step;
  std::optional<SpanEnd> end;  // its own unless an earlier one of its name is still to end
  bool encloses = false;       // an op began in it and ended by an event without a name

  [[nodiscard]] bool is_op() const { return !begin_event.empty(); }
};

// What an event tells of the spans of its lane.
struct SettledSpans {
  bool is_end = true;           // of a span; else the event ends what never began
  bool is_ambiguous = false;    // the span that ended may not be the one that was meant
  std::vector<OpenSpan> ended;  // each with its end
  std::vector<OpenSpan> cut;    // their ends are lost
};

// Spans by lane (a thread, or an async id).
//
// Ops of one name in one lane follow one another, however times were rounded and events of one time are
// ordered: the first that began ends first. None spans into another step: what is open then has lost its end,
// and the ends seen since are those of the ops begun last. Ends without a name end what began last; if that
// is an op in which another ended in this way, the two may as well overlap.
class OpenSpans {
 public:
  SettledSpans begin(const std::string& lane, OpenSpan span);
  // `name` may be empty.
  [[nodiscard]] SettledSpans end(const std::string& lane, std::string_view name, SpanEnd end);

  // What is left at the end of the file, in the order of the begin events.
  [[nodiscard]] SettledSpans finish() &&;

 private:
  using Lane = std::vector<OpenSpan>;  // in the order of the begin events

  static SettledSpans end_last(Lane& lane, SpanEnd end);
  static SettledSpans end_named(Lane& lane, std::string_view name, SpanEnd end);

  std::unordered_map<std::string, Lane> lanes_;
};

}  // namespace goodput
