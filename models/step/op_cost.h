// Which of a step's costs its ops take, but for the passes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "models/step/op_pricer.h"
#include "models/step/step_costs.h"
#include "sim/ops/trace_index.h"

namespace goodput {

struct OpCost {
  enum class Kind : std::uint8_t {
    kNothing,
    kParamsGather,  // of a position of the pipeline
    kGradientReduction,
    kSendOnward,
    kLayernormReduction,  // of a stage
    kClip,
    kOptimizer,
    kEmbeddingReduction,  // of the step
    kSeparateReduction,
  };
  Kind kind = Kind::kNothing;
  std::int32_t of = 0;  // position or stage

  // Among all costs of a pipeline of so many positions, from 0.
  [[nodiscard]] std::size_t index(std::int32_t positions) const {
    return static_cast<std::size_t>(kind) * static_cast<std::size_t>(positions) +
           static_cast<std::size_t>(of);
  }
  static constexpr std::size_t kKinds = 9;
};

// REQUIRES: an op of a plan, no pass.
[[nodiscard]] OpCost cost_of(const TraceOp& op, std::int32_t positions);

[[nodiscard]] Transfer value_of(OpCost cost, const StepCosts& costs);

}  // namespace goodput
