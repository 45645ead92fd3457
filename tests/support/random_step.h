// Seeded small steps with everything that a step engine has to time: groups, delays, flows on shared links,
// slow workers and lost ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/base/random.h"
#include "sim/engine/step_engine.h"
#include "sim/ops/op_graph.h"

namespace goodput::testing {

struct RandomStep {
  OpGraph graph;
  std::size_t lanes;
  Workers workers;
  StepWork work;
  Disturbances disturbances;

  [[nodiscard]] WorkerId worker_of(std::size_t i) const {
    return workers.of_op[i / lanes] + static_cast<WorkerId>(i % lanes) * workers.per_lane;
  }
};

// A step with neither flows nor disturbances.
[[nodiscard]] RandomStep random_step(std::uint64_t seed);

// Gives some meetings one flow between all of them, some instances a flow of their own.
void add_random_flows(RandomStep& step, RandomStream& random);

// Up to five changes of a worker's rate and up to two lost workers.
void add_random_disturbances(RandomStep& step, RandomStream& random);

}  // namespace goodput::testing
