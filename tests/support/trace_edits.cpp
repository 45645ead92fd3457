#include "tests/support/trace_edits.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace goodput::testing {

void append(OpTrace& trace, const OpRow& row) {
  if (const auto problem = trace.append(row)) throw std::logic_error(*problem);
}

void append_all(OpTrace& trace, const OpTrace& more) {
  for (std::size_t i = 0; i < more.size(); ++i) append(trace, more.row(i));
}

bool contains(const Steps& steps, std::int64_t step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

OpTrace without(const OpTrace& trace, const Steps& steps) {
  return filtered(trace, [&](const OpRow& row) { return !contains(steps, row.step); });
}
OpTrace only(const OpTrace& trace, const Steps& steps) {
  return filtered(trace, [&](const OpRow& row) { return contains(steps, row.step); });
}

std::int64_t dp_size(const OpTrace& trace) {
  return std::int64_t{*std::max_element(trace.dp_rank.begin(), trace.dp_rank.end())} + 1;
}
std::int64_t pp_size(const OpTrace& trace) {
  return std::int64_t{*std::max_element(trace.stage.begin(), trace.stage.end())} + 1;
}

Steps steps_of(const OpTrace& trace) {
  const std::set<std::int64_t> steps(trace.step.begin(), trace.step.end());
  return {steps.begin(), steps.end()};
}

}  // namespace goodput::testing
