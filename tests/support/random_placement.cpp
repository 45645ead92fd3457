#include "tests/support/random_placement.h"

#include <algorithm>
#include <utility>

#include "tests/support/random_integer.h"

namespace goodput::testing {
namespace {

template <typename T>
void shuffle(RandomStream& random, std::vector<T>& values) {
  for (std::size_t i = 1; i < values.size(); ++i) std::swap(values[i], values[random.below(i + 1)]);
}

}  // namespace

ExpertPlacement random_placement(RandomStream& random, std::int32_t experts, std::int32_t nodes,
                                 std::int32_t slots) {
  ExpertPlacement placement{experts, nodes, slots, {}};
  for (std::int32_t i = 0; i < nodes * slots; ++i) {
    placement.expert_at.push_back(i < experts ? i : between(random, 0, experts - 1));
  }
  shuffle(random, placement.expert_at);
  for (std::int32_t n = 0; n < nodes; ++n) std::ranges::sort(placement.node(n));
  return placement;
}

ReplacementCase random_replacement(std::uint64_t seed) {
  RandomStream random(seed, "replacement");
  const std::int32_t before = between(random, 1, 8);
  const std::int32_t after = between(random, 1, 8);
  const std::int32_t slots = between(random, 1, 12);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(before + after));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(3 * i + 1);
  shuffle(random, ids);

  ReplacementCase result;
  result.placed.node_ids.assign(ids.begin(), ids.begin() + before);
  // From none to all of the old nodes are among those alive.
  const std::int32_t first_live = between(random, 0, before);
  result.live_ids.assign(ids.begin() + first_live, ids.begin() + first_live + after);
  std::ranges::sort(result.live_ids);
  const std::int32_t idle = random.below(4) == 0 ? between(random, 0, after - 1) : 0;
  const std::int32_t most = std::min(70, std::min(before, after - idle) * slots);
  for (std::int32_t layers = between(random, 1, 3); layers > 0; --layers) {
    const std::int32_t experts = between(random, 1, most);
    result.placed.layers.push_back(random_placement(random, experts, before, slots));
    result.plan.push_back(random_placement(random, experts, after - idle, slots));
  }
  return result;
}

}  // namespace goodput::testing
