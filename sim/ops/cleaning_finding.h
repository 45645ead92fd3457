// What was not as it should be in a trace, and what was done about it: one table of rules for readers,
// the cleaning pass and everything that reports them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

enum class CleaningRule : std::uint8_t {
#define GOODPUT_CLEANING_RULE(enumerator, name, found, done, strict) enumerator,
#include "sim/ops/cleaning_rules.def"
#undef GOODPUT_CLEANING_RULE
};

struct CleaningRuleInfo {
  std::string_view name;
  std::string_view found;
  std::string_view done;
  bool strict;
};

inline constexpr std::array kCleaningRules = {
#define GOODPUT_CLEANING_RULE(enumerator, name, found, done, strict) \
  CleaningRuleInfo{name, found, done, strict},
#include "sim/ops/cleaning_rules.def"
#undef GOODPUT_CLEANING_RULE
};

[[nodiscard]] constexpr const CleaningRuleInfo& info(CleaningRule rule) {
  return kCleaningRules[static_cast<std::size_t>(rule)];
}

struct CleaningFinding {
  CleaningRule rule = CleaningRule::kDamagedRows;
  std::size_t count = 0;            // of what `found` names
  std::vector<std::int64_t> steps;  // where, ascending, each once
  std::string detail;               // names, the first place; for people
};

}  // namespace goodput
