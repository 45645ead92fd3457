// Seeded jobs with known stragglers, for tests of what whatif makes of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/stragglers.h"
#include "models/synth/even_step.h"
#include "models/synth/synthetic_trace.h"
#include "sim/base/random.h"

namespace goodput::testing {

using goodput::even_step;
using StepShape = EvenStepShape;

struct SyntheticCase {
  StepShape shape;
  std::vector<Straggler> stragglers;
  TraceSettings settings;
  std::uint64_t seed = 0;

  [[nodiscard]] std::string name() const;
  [[nodiscard]] SyntheticTrace synthesize(Truth truth = Truth::kWhole) const;
};

// A random straggler of one of kStragglerKinds, from faint to heavy, or ("slow-replica") a slow worker on
// every stage of a replica.
void add_stragglers(std::string_view kind, SyntheticCase& job, RandomStream& random);

// A random shape (pp 1 to 8, vpp 1 to 3) with one random straggler of each kind, from faint to heavy.
// `kinds`: as above; one may come several times.
[[nodiscard]] SyntheticCase random_case(std::uint64_t seed, const std::vector<std::string_view>& kinds,
                                        std::int32_t least_dp);

}  // namespace goodput::testing
