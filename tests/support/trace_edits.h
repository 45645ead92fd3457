// Rows of a trace taken out, put in and changed, for tests. All throw std::logic_error on rows that make no
// sense.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/ops/op_trace.h"

namespace goodput::testing {

using Steps = std::vector<std::int64_t>;

void append(OpTrace& trace, const OpRow& row);
void append_all(OpTrace& trace, const OpTrace& more);

template <typename Keep>
[[nodiscard]] OpTrace filtered(const OpTrace& trace, Keep keep) {
  OpTrace rows;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (keep(trace.row(i))) append(rows, trace.row(i));
  }
  return rows;
}

template <typename Change>
[[nodiscard]] OpTrace changed(const OpTrace& trace, Change change) {
  OpTrace rows;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    OpRow row = trace.row(i);
    change(row);
    append(rows, row);
  }
  return rows;
}

[[nodiscard]] bool contains(const Steps& steps, std::int64_t step);
[[nodiscard]] OpTrace without(const OpTrace& trace, const Steps& steps);
[[nodiscard]] OpTrace only(const OpTrace& trace, const Steps& steps);

// Ascending.
[[nodiscard]] Steps steps_of(const OpTrace& trace);
[[nodiscard]] std::int64_t dp_size(const OpTrace& trace);
[[nodiscard]] std::int64_t pp_size(const OpTrace& trace);

}  // namespace goodput::testing
