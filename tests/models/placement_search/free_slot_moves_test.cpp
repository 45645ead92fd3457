// Balancing by the replicas that survival does not rest on.
#include "models/placement_search/free_slot_moves.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "models/placement/gpu_slots.h"
#include "models/placement_search/best_plan.h"
#include "tests/support/placement_case.h"

namespace goodput {
namespace {

// Replicas of the first expert of each group of as many as a node has slots, in ascending order.
std::vector<std::int32_t> representatives(std::vector<std::int32_t> replicas, std::int32_t slots) {
  std::sort(replicas.begin(), replicas.end());
  std::vector<std::int32_t> first;
  for (std::size_t i = 0; i < replicas.size(); i += static_cast<std::size_t>(slots))
    first.push_back(replicas[i]);
  return first;
}

LayerOnGpus random_layer(RandomStream& random) {
  const SlotGrid grid{static_cast<std::int32_t>(3 + random.below(20)),
                      static_cast<std::int32_t>(1 + random.below(6))};
  const auto experts = static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(grid.total())));
  LayerDemand layer{testing::random_replicas_of(random, grid, experts), {}};
  for (std::int32_t e = 0; e < experts; ++e)
    layer.loads.push_back(static_cast<std::int64_t>(random.below(1000)));
  const ExpertPlacement placement = random.below(2) == 0 ? place_mro(layer, grid) : place_spread(layer, grid);
  const std::int32_t gpus = grid.slots % 2 == 0 ? 2 : 1;
  return {layer, placement, gpus};
}

double unevenness(const LayerOnGpus& layer) {
  double sum = 0;
  for (const double load :
       node_loads(in_order_of_gpus(layer.placement, layer.layer, layer.gpus), layer.layer)) {
    sum += load * load * load * load;
  }
  return sum;
}

}  // namespace

TEST_CASE("free slots: swaps keep replicas, shifts keep representatives, and neither loses survival") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "free slots test");
    const LayerOnGpus start = random_layer(random);
    const Annealing annealing{300, 1e-1, 1e-5};
    const LayerOnGpus swapped = swap_free_slots(start, annealing, random);
    const LayerOnGpus shifted = shift_free_slots(start, 1, annealing, random);
    CHECK(swapped.layer.replicas == start.layer.replicas);
    CHECK(representatives(shifted.layer.replicas, start.placement.slots) ==
          representatives(start.layer.replicas, start.placement.slots));
    const SlotGrid grid{start.placement.nodes, start.placement.slots};
    for (const LayerOnGpus* layer : {&swapped, &shifted}) {
      CHECK(check_replicas(layer->layer.replicas, grid));
      std::vector<std::int32_t> held(layer->layer.replicas.size());
      for (const std::int32_t e : layer->placement.expert_at) ++held[static_cast<std::size_t>(e)];
      CHECK(held == layer->layer.replicas);
      CHECK(survives_as_often({&layer->placement, 1}, {&start.placement, 1}));
    }
    if (start.gpus == 1) CHECK(unevenness(swapped) <= unevenness(start) * (1 + 1e-9) + 1e-9);
  }
}

TEST_CASE("free slots: the load of one busy node goes to idle ones") {
  // Expert 0 on nodes 0 and 1 decides; its third and fourth replica on node 0 are free and heavy.
  const LayerOnGpus start{{{4, 4}, {400, 40}}, {2, 2, 4, {0, 0, 0, 1, 0, 1, 1, 1}}, 1};
  RandomStream random(1, "free slots test");
  const LayerOnGpus swapped = swap_free_slots(start, {500, 1e-1, 1e-5}, random);
  CHECK(load_imbalance(start.placement, start.layer, 1).node_max_over_mean == doctest::Approx(310.0 / 220));
  CHECK(load_imbalance(swapped.placement, swapped.layer, 1).node_max_over_mean == doctest::Approx(1));
}

}  // namespace goodput
