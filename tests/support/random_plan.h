// Seeded training plans of all shapes, for property tests.
#pragma once

#include <cstdint>
#include <string>

#include "models/plan/training_plan.h"

namespace goodput::testing {

// Passes check_training_plan(); small enough to build in milliseconds. Every schedule, dense and MoE models,
// all ways of cutting up and overlapping occur.
[[nodiscard]] TrainingPlan random_plan(std::uint64_t seed);

// For messages of failing tests.
[[nodiscard]] std::string to_string(const TrainingPlan& plan);

// A dense GPT of 8 layers on 8 A100-like GPUs of one node, nothing parallel: a start for hand-made plans.
[[nodiscard]] TrainingPlan small_plan();

}  // namespace goodput::testing
