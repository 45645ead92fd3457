// Which parallel plans a recovery policy can run, known before any step is timed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "models/plan/expert_slots.h"
#include "models/plan/training_plan.h"
#include "sim/base/errors.h"

namespace goodput {

// A plan as a policy runs it: what decides how much memory it needs.
struct PlacedPlan {
  ParallelPlan parallel{};
  ExpertSlots slots{};  // none: experts are where the plan's own groups have them
};

// Both functions REQUIRE check_training_plan() of the plan, on GPUs that fill whole nodes. Any number of
// threads may call them at once.
struct PlanLimits {
  // The policy runs every plan as if it had this etp, so that a search looks at such plans. None: it runs the
  // plan's own.
  std::optional<std::int32_t> etp{};
  // Fails, with a place in the plan ("/parallel/pp") or none, on what the policy cannot run. Empty: it runs
  // every plan.
  std::function<Status(const ParallelPlan&)> check{};
  // How the policy runs a plan. Empty: unchanged.
  std::function<PlacedPlan(const ParallelPlan&)> placed{};
};

// ---- For the files of policies. `base` says model and machines.

// Nodes that the plan's GPUs take.
[[nodiscard]] std::int64_t nodes_of(const ParallelPlan& plan, const TrainingPlan& base);
// The fewest nodes that units of so many GPUs fill.
[[nodiscard]] std::int64_t nodes_filled_by(std::int64_t gpus, const TrainingPlan& base);

// The same status with the file of the plan for its place.
[[nodiscard]] Status in_file_of(const TrainingPlan& plan, const Status& status);

// For policies that go on without the nodes they lost: with ZeRO, those hold shards that nobody else has.
[[nodiscard]] Status check_unsharded(const ParallelPlan& plan);

// Groups of `ep` GPUs share out the experts of a layer. Each GPU holds whole experts, and `redundant` more.
struct WholeExpertGroups {
  std::int32_t ep = 1;
  std::int32_t redundant = 0;
};
// REQUIRES for both: a model whose experts ep divides. The first fails on a plan whose nodes cannot hold a
// group.
[[nodiscard]] Status check_groups(const ParallelPlan& plan, const WholeExpertGroups& groups,
                                  const TrainingPlan& base);
[[nodiscard]] PlacedPlan placed_in_groups(const ParallelPlan& plan, const WholeExpertGroups& groups,
                                          const TrainingPlan& base);

}  // namespace goodput
