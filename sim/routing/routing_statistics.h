// How unevenly a routing trace loads its experts, and how fast that changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/routing/routing_trace.h"

namespace goodput {

// Of one layer at one iteration. Loads that are all zero count as even.
struct RoutingSkew {
  // Largest load over mean load. Where every expert gets a buffer of the largest load's size (a padded
  // all-to-all), communication and expert compute grow by this factor.
  double padding_factor = 1;
  double variation = 0;  // coefficient of variation: deviation over mean
  // Exponent s of the Zipf law (load of the r-th busiest ~ r^-s) that is likeliest for the tokens: the one
  // with their mean logarithm of the rank. At most 16: nearly everything goes to one expert.
  double zipf_exponent = 0;
  double hottest_share = 0;       // of the tokens' copies
  std::int32_t hottest = 0;       // its expert; the lowest of several
  double entropy = 1;             // over that of an even load: 0 (one expert gets all) to 1
  std::int32_t idle_experts = 0;  // that get nothing
};
[[nodiscard]] RoutingSkew skew_of(std::span<const std::int64_t> loads);

// The `count` most loaded experts, busiest first; the lower of equals first. REQUIRES: count <= loads.size().
[[nodiscard]] std::vector<std::int32_t> busiest_experts(std::span<const std::int64_t> loads,
                                                        std::size_t count);

// Largest over mean load of the `count` most loaded experts. REQUIRES: 1 <= count <= loads.size().
[[nodiscard]] double padding_factor_of_busiest(std::span<const std::int64_t> loads, std::size_t count);

// Total variation distance of two distributions of tokens: the share of tokens that go elsewhere, 0 to 1.
// REQUIRES: equal sizes.
[[nodiscard]] double routing_distance(std::span<const std::int64_t> a, std::span<const std::int64_t> b);

// Mean distance between rows of a layer that lie `rows` recorded iterations apart.
[[nodiscard]] double mean_routing_distance(const RoutingTrace& trace, std::size_t layer, std::size_t rows);

// How often the next recorded iteration has another hottest expert, of all but the last. 0 for a single
// iteration.
[[nodiscard]] double hottest_change_rate(const RoutingTrace& trace, std::size_t layer);

}  // namespace goodput
