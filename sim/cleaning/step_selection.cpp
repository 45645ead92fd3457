#include "sim/cleaning/step_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace goodput {
namespace {

std::string as_written(std::span<const NumberRange> ranges) {
  std::string text;
  for (const NumberRange& range : ranges) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", range.first);
    if (range.last != range.first) text += fmt::format("-{}", range.last);
  }
  return text;
}

// Ascending, each once.
std::vector<std::int64_t> recorded_steps(const OpTrace& trace, const std::vector<CleaningFinding>& findings) {
  std::set<std::int64_t> steps;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    if (row == 0 || trace.step[row] != trace.step[row - 1]) steps.insert(trace.step[row]);
  }
  for (const CleaningFinding& finding : findings) {
    if (finding.rule == CleaningRule::kDamagedRows) steps.insert(finding.steps.begin(), finding.steps.end());
  }
  return {steps.begin(), steps.end()};
}

}  // namespace

bool is_asked_for(std::int64_t step, std::span<const NumberRange> ranges) {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const NumberRange& range) {
           return range.first <= step && step <= range.last;
         });
}

Status check_asked_for(const OpTrace& trace, const std::vector<CleaningFinding>& findings,
                       std::span<const NumberRange> ranges) {
  return ranges.empty() ? Status(Ok{}) : check_asked_for(recorded_steps(trace, findings), ranges);
}

Status check_asked_for(std::span<const std::int64_t> recorded, std::span<const NumberRange> ranges) {
  if (ranges.empty()) return Ok{};
  for (const NumberRange& range : ranges) {
    if (range.first == range.last && !std::binary_search(recorded.begin(), recorded.end(), range.first)) {
      return Error{
          fmt::format("step {} is not in the trace; number of steps in the trace: {} (from {} to {})",
                      range.first, recorded.size(), recorded.front(), recorded.back())};
    }
  }
  if (std::none_of(recorded.begin(), recorded.end(),
                   [&](std::int64_t step) { return is_asked_for(step, ranges); })) {
    return Error{
        fmt::format("no step of the trace is in {}; number of steps in the trace: {} (from {} to {})",
                    as_written(ranges), recorded.size(), recorded.front(), recorded.back())};
  }
  return Ok{};
}

}  // namespace goodput
