// The probability that a placement survives k failed nodes: that every expert of every layer keeps a live
// replica when k of the N nodes fail, every set of k being equally likely.
//
// One placement survives by chance as another does; layers fail together, which is why they share one order
// of nodes (models/placement/placement_rules.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/placement/node_sets.h"

namespace goodput {

enum class SurvivalMethod { kExact, kMonteCarlo };

struct Survival {
  std::int32_t failures = 0;  // k
  double probability = 0;
  // Exact: both are the probability. Monte Carlo: Wilson's 95 % interval.
  double low = 0;
  double high = 0;
  SurvivalMethod method = SurvivalMethod::kExact;
};

struct SurvivalOptions {
  std::size_t max_states = 1U << 14;  // of the exact recursion over nodes, before it gives up
  double max_enumerated = 1e7;        // failure sets that are tried one by one, before drawing some
  std::int64_t samples = 1'000'000;   // drawn for one k
  std::uint64_t seed = 0;
};

// For k = first..last. REQUIRES: 0 <= first <= last <= sets.nodes().
[[nodiscard]] std::vector<Survival> survival(const NodeSets& sets, std::int32_t first, std::int32_t last,
                                             const SurvivalOptions& options = {});

// The three ways, each on its own; survival() takes the first that can.

// By a recursion over the nodes: p[k] for k = 0..max_failures, exact up to rounding. Its state is which sets
// have lost every node so far; when more than max_states of them are possible, there is no answer.
[[nodiscard]] std::optional<std::vector<double>> survival_by_recursion(const NodeSets& sets,
                                                                       std::int32_t max_failures,
                                                                       std::size_t max_states);
// By trying all C(N, k) failure sets.
[[nodiscard]] double survival_by_enumeration(const NodeSets& sets, std::int32_t failures);
// By drawing failure sets.
[[nodiscard]] Survival survival_by_sampling(const NodeSets& sets, std::int32_t failures, std::int64_t samples,
                                            std::uint64_t seed);

// Up to how many failures placements are compared with each other: all of them, or 64 of more than 512 nodes,
// since the recursion takes time in nodes x failures.
[[nodiscard]] constexpr std::int32_t compared_failures(std::int32_t nodes) {
  return nodes <= 512 ? nodes : 64;
}

// Probabilities closer than this are the same but for rounding.
inline constexpr double kSameProbability = 1e-12;

// n choose k; infinity beyond a double.
[[nodiscard]] double choose(std::int32_t n, std::int32_t k);

}  // namespace goodput
