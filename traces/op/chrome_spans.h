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

struct OpenSpan {
  std::string name;
  std::string begin_event;  // as JSON; empty: its end is of no interest either
  double begin_us = 0;
  std::uint64_t number = 0;  // of the begin event in the file
};

// Spans of one lane (a thread, or an async id) end in the reverse order of their beginning unless their names
// say otherwise.
class OpenSpans {
 public:
  void begin(const std::string& lane, OpenSpan span);

  // The span of that lane which ends at `end_us`: the one begun last, of this name where one is given (of two
  // of a name, one that began at the same time as it would end gives way to the other). It is open no more.
  [[nodiscard]] std::optional<OpenSpan> end(const std::string& lane, std::string_view name, double end_us);

  // What never ended, in the order of the begin events.
  [[nodiscard]] std::vector<OpenSpan> take_open() &&;

 private:
  std::unordered_map<std::string, std::vector<OpenSpan>> lanes_;
};

}  // namespace goodput
