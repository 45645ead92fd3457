#include <fmt/format.h>

#include <charconv>

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

Result<CheckpointFault> parse_fault(std::string_view text, std::int64_t steps, std::int32_t ranks) {
  const std::size_t colon = text.find(':');
  CheckpointFault fault;
  const auto step = whole_number<std::int64_t>(text.substr(0, colon));
  if (!step) return not_a_fault(text, "is not a fault; expected STEP or STEP:RANK, for example 1200,3400:5");
  if (*step > steps)
    return not_a_fault(text, fmt::format("is after the end of the run, which has {} steps (--steps)", steps));
  fault.step = *step;
  if (colon == std::string_view::npos) return fault;
  fault.rank = whole_number<std::int32_t>(text.substr(colon + 1));
  if (!fault.rank)
    return not_a_fault(text, "is not a fault; expected STEP or STEP:RANK, for example 1200,3400:5");
  if (*fault.rank >= ranks)
    return not_a_fault(text, fmt::format("must name a rank from 0 to {} (--ranks)", ranks - 1));
  return fault;
}

}  // namespace

Result<std::vector<CheckpointFault>> parse_faults(std::string_view list, std::int64_t steps,
                                                  std::int32_t ranks) {
  std::vector<CheckpointFault> faults;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view text = list.substr(0, comma);
    GOODPUT_TRY(const CheckpointFault fault, parse_fault(text, steps, ranks));
    if (!faults.empty() && fault.step <= faults.back().step)
      return not_a_fault(text, fmt::format("does not come after step {}; list the steps in ascending order",
                                           faults.back().step));
    faults.push_back(fault);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
    if (list.empty())
      return not_a_fault("", "is not a fault; expected STEP or STEP:RANK, for example 1200,3400:5");
  }
  return faults;
}

}  // namespace goodput
