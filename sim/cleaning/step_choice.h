// Which steps of a trace an analysis takes: whole ones, all of one shape.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/cleaning/step_shapes.h"

namespace goodput {

enum class StepState : std::uint8_t {
  kKept,
  kIgnored,    // nobody asked for it
  kDamaged,    // left out by a reader, or recorded twice in no telling order
  kMissing,    // ops are missing
  kOtherShape  // whole, but of another number of micro-batches or replicas
};

struct StepFacts {
  bool is_asked_for = true;
  bool is_damaged = false;         // whatever its shape
  std::optional<StepShape> shape;  // none: not dense
};

struct StepChoice {
  std::optional<StepShape> shape;  // of the kept steps; none: no step is whole
  std::vector<StepState> states;   // by step
  std::size_t kept = 0;
  std::size_t damaged = 0;                   // and missing, where the kept ones are
  std::optional<std::size_t> template_step;  // the first whole step of the shape, asked for or not
};

// The largest run of whole steps of one shape among those asked for; of equally large ones the last. Damaged
// steps do not end a run, nor does a shorter interlude of fewer replicas or micro-batches between two runs of
// the same shape: there something is missing.
[[nodiscard]] StepChoice choose_steps(const std::vector<StepFacts>& steps, const OpSets& sets);

}  // namespace goodput
