#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "sim/base/text.h"
#include "tools/checkpoint/checkpoint_options.h"

namespace goodput {
namespace {

template <typename Integer>
std::optional<Integer> whole_number(std::string_view text) {
  Integer value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Error not_a_fault(std::string_view text, std::string_view problem) {
  return {fmt::format("--faults: {} {}", in_quotes(text), problem)};
}

constexpr std::string_view kNoFault =
    "is not a fault; expected STEP, STEP:RANK or STEP:RANK+RANK, for example 1200,3400:5";

// "0+5": the ranks of their nodes.
Result<std::vector<std::int32_t>> parse_ranks(std::string_view text, std::string_view list,
                                              std::int32_t ranks, std::int32_t ranks_per_node) {
  std::set<std::int32_t> failed;
  while (true) {
    const std::size_t plus = list.find('+');
    const auto rank = whole_number<std::int32_t>(list.substr(0, plus));
    if (!rank) return not_a_fault(text, kNoFault);
    if (*rank >= ranks)
      return not_a_fault(text, fmt::format("must name ranks from 0 to {} (--ranks)", ranks - 1));
    const std::int32_t first = *rank - *rank % ranks_per_node;
    for (std::int32_t i = first; i < std::min(first + ranks_per_node, ranks); ++i) failed.insert(i);
    if (plus == std::string_view::npos) break;
    list.remove_prefix(plus + 1);
  }
  return std::vector<std::int32_t>(failed.begin(), failed.end());
}

Result<CheckpointFault> parse_fault(std::string_view text, std::int64_t steps, std::int32_t ranks,
                                    std::int32_t ranks_per_node) {
  const std::size_t colon = text.find(':');
  CheckpointFault fault;
  const auto step = whole_number<std::int64_t>(text.substr(0, colon));
  if (!step) return not_a_fault(text, kNoFault);
  if (*step > steps)
    return not_a_fault(text, fmt::format("is after the end of the run, which has {} steps (--steps)", steps));
  fault.step = *step;
  if (colon == std::string_view::npos) return fault;
  GOODPUT_TRY(fault.ranks, parse_ranks(text, text.substr(colon + 1), ranks, ranks_per_node));
  return fault;
}

}  // namespace

Result<std::vector<CheckpointFault>> parse_faults(std::string_view list, std::int64_t steps,
                                                  std::int32_t ranks, std::int32_t ranks_per_node) {
  std::vector<CheckpointFault> faults;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view text = list.substr(0, comma);
    GOODPUT_TRY(const CheckpointFault fault, parse_fault(text, steps, ranks, ranks_per_node));
    if (!faults.empty() && fault.step <= faults.back().step)
      return not_a_fault(text, fmt::format("does not come after step {}; list the steps in ascending order",
                                           faults.back().step));
    faults.push_back(fault);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
    if (list.empty()) return not_a_fault("", kNoFault);
  }
  return faults;
}

}  // namespace goodput
