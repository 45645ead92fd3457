// What production traces look like: dense traces with one kind of damage each, and what the cleaning pass
// must make of them, derived where the damage is done.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/number_ranges.h"
#include "sim/base/random.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_trace.h"

namespace goodput::testing {

// A dense trace, and the same job with other sizes where they can be had.
struct WholeTrace {
  std::string name;
  OpTrace rows;
  bool absolute = false;          // starts count from one origin for all steps
  std::optional<OpTrace> small;   // fewer micro-batches
  std::optional<OpTrace> narrow;  // fewer replicas
};

struct DamagedTrace {
  OpTrace rows;
  std::vector<CleaningFinding> findings;  // of readers
  std::vector<NumberRange> steps;         // asked for; empty: all

  // The outcome.
  std::string refusal;                         // words of it; empty: accepted
  OpTrace want;                                // dense rows that give the same answers
  std::map<CleaningRule, std::size_t> counts;  // of all findings
};

struct DamageKind {
  std::string_view name;
  // None where the trace has no place for it. The same random numbers do the same damage.
  std::optional<DamagedTrace> (*damage)(const WholeTrace& whole, RandomStream& random);
};

[[nodiscard]] const std::vector<DamageKind>& damage_kinds();

}  // namespace goodput::testing
