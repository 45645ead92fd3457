// Clusters for the tests: sizes, placements, routing, rows; the same for the same seed on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gpu/dispatch_shape.h"
#include "gpu/reference.h"
#include "gpu/row_copy.h"
#include "gpu/test/test.h"

namespace goodput::gpu::testing {

// Engines are standard, distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // 0 .. below - 1.
  std::int32_t below(std::int32_t below) {
    return static_cast<std::int32_t>(engine_() % static_cast<std::uint64_t>(below));
  }
  // In [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

enum class Routing {
  kSkewed,  // low experts more often; a twentieth of the slots is dropped; ranks have fewer tokens than they
            // may
  kOneExpert,  // everything to one expert
  kAllDropped,
};

enum class Failures { kNone, kSome };  // kSome: a third of the ranks host nothing, experts may be lost

enum class Hosting { kSlots, kEverywhere };  // every expert on every rank

struct DispatchCase {
  DispatchShape shape;
  Routing routing = Routing::kSkewed;
  Failures failures = Failures::kNone;
  Hosting hosting = Hosting::kSlots;
  CopyPath path = CopyPath::kAuto;
  std::uint64_t seed = 0;
};

std::string name_of(const DispatchCase& dispatch);

// Every pair of values of gpu.md's grid of ranks, experts, tokens and top-k in some case, with element types,
// policies, routing and failures turning beside them. Small: fewer tokens.
std::vector<DispatchCase> grid(Size size);

struct Cluster {
  reference::Placement placement;
  std::vector<std::vector<std::int32_t>> expert_of;  // by rank: tokens x top_k
  std::vector<moe::Tokens> counts;                   // ranks x experts
};

// Four slots a rank (more where the experts would not fit), popular experts in many of them.
Cluster make_cluster(const DispatchCase& dispatch);

// In [-1, 1), of T's precision.
template <class T>
std::vector<T> random_rows(std::size_t elements, Random& random) {
  std::vector<T> rows(elements);
  for (T& element : rows) element = from_float<T>(static_cast<float>(random.uniform() * 2 - 1));
  return rows;
}

}  // namespace goodput::gpu::testing
