#include "models/placement/layer_classes.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "models/migration/expert_migration.h"
#include "models/placement/gpu_slots.h"
#include "models/placement_search/place_experts.h"
#include "sim/base/index.h"
#include "sim/base/random.h"
#include "tests/support/random_placement.h"

namespace goodput {
namespace {

using AllLoads = std::vector<std::vector<std::int64_t>>;

// Layers that repeat a few others, with many equal loads.
AllLoads repeated_loads(RandomStream& random, std::size_t layers, std::size_t experts) {
  AllLoads different(1 + random.below(3), std::vector<std::int64_t>(experts));
  for (std::vector<std::int64_t>& layer : different) {
    for (std::int64_t& load : layer) load = static_cast<std::int64_t>(random.below(6));
  }
  AllLoads loads;
  for (std::size_t l = 0; l < layers; ++l) loads.push_back(different[random.below(different.size())]);
  return loads;
}

LayerClasses classes_of(const AllLoads& loads) {
  LayerClasses classes = LayerClasses::together(loads.size());
  classes.part(loads);
  return classes;
}

LayerClasses random_classes(RandomStream& random, std::size_t classes, std::size_t layers) {
  AllLoads names;
  for (std::size_t l = 0; l < layers; ++l)
    names.push_back({static_cast<std::int64_t>(l < classes ? l : random.below(classes))});
  return classes_of(names);
}

template <typename T>
std::vector<T> for_every_layer(const std::vector<T>& of_classes, const LayerClasses& classes) {
  std::vector<T> layers;
  for (const std::size_t of_class : classes.by_layer()) layers.push_back(of_classes[of_class]);
  return layers;
}

}  // namespace

TEST_CASE("layer classes: layers are alike that have the same loads in all windows") {
  LayerClasses classes = LayerClasses::together(4);
  CHECK(classes.classes() == 1);
  classes.part(AllLoads{{1, 2}, {2, 1}, {1, 2}, {2, 1}});
  CHECK(std::vector(classes.by_layer().begin(), classes.by_layer().end()) ==
        std::vector<std::size_t>{0, 1, 0, 1});
  classes.part(AllLoads{{3, 3}, {3, 3}, {3, 3}, {3, 4}});  // 0 and 1 differed before
  CHECK(std::vector(classes.by_layer().begin(), classes.by_layer().end()) ==
        std::vector<std::size_t>{0, 1, 0, 2});
  CHECK(classes.first(2) == 3);
  CHECK(classes.sizes() == std::vector<std::int32_t>{2, 1, 1});
  CHECK(classes.one_of_each(AllLoads{{5}, {6}, {7}, {8}}) == AllLoads{{5}, {6}, {8}});
  CHECK(LayerClasses::distinct(4).classes() == 4);
  CHECK(LayerClasses::together(0) == LayerClasses::distinct(0));
}

TEST_CASE("layer classes: every rule but a search places the layers of a class alike") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "layer classes");
    const auto gpus = static_cast<std::int32_t>(1 + random.below(3));
    const auto slots = gpus * static_cast<std::int32_t>(1 + random.below(4));
    const auto nodes = static_cast<std::int32_t>(1 + random.below(15));
    const AllLoads loads = repeated_loads(random, 5, 1 + random.below(index(nodes * slots)));
    const LayerClasses classes = classes_of(loads);
    for (const PlacementRule rule :
         {PlacementRule::kMro, PlacementRule::kSpread, PlacementRule::kCompact, PlacementRule::kEplb}) {
      for (const Allocation allocation : {Allocation::kEq1, Allocation::kEplb, Allocation::kBalanced}) {
        const PlacementChoice choice{allocation, rule, 2, {}};
        const auto all = place_experts(loads, {nodes, slots, gpus}, choice);
        const auto one = place_experts(classes.one_of_each(loads), {nodes, slots, gpus}, choice);
        REQUIRE(all.has_value());
        REQUIRE(one.has_value());
        CHECK(all->min_replicas == one->min_replicas);
        CHECK(placements_of(all->layers) == for_every_layer(placements_of(one->layers), classes));
        for (std::size_t l = 0; l < loads.size(); ++l) {
          const PlacedLayer& of_class = one->layers[classes.of(l)];
          CHECK(in_order_of_gpus(all->layers[l].placement, all->layers[l].layer, gpus) ==
                in_order_of_gpus(of_class.placement, of_class.layer, gpus));
        }
      }
    }
  }
}

TEST_CASE("layer classes: a migration by classes is that of all their layers") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    INFO("seed " << seed);
    const testing::ReplacementCase random = testing::random_replacement(seed);
    RandomStream stream(seed, "classes of a migration");
    const std::size_t given = random.plan.size();
    const LayerClasses classes = random_classes(stream, given, given + stream.below(5));
    const ClusterPlacement placed{for_every_layer(random.placed.layers, classes), random.placed.node_ids};
    for (const MappingRule rule : {MappingRule::kGreedy, MappingRule::kOptimal}) {
      const Migration all = migrate(placed, random.live_ids, for_every_layer(random.plan, classes), rule);
      const Migration one = migrate(random.placed, random.live_ids, random.plan, rule, classes);
      CHECK(one.newly_assigned == all.newly_assigned);
      CHECK(one.moves.transfers == all.moves.transfers);
      CHECK(one.moves.from_checkpoint == all.moves.from_checkpoint);
      CHECK(one.traffic == all.traffic);
      CHECK(one.placed.node_ids == all.placed.node_ids);
      CHECK(one.idle_ids == all.idle_ids);
    }
  }
}

TEST_CASE("layer classes: in a large cluster, too, where nodes are mapped by kind and senders are many") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "large migration");
    const LayerClasses classes = random_classes(random, 2, 5);
    ClusterPlacement placed;
    std::vector<ExpertPlacement> plan;
    for (std::int32_t layer = 0; layer < 2; ++layer) {
      placed.layers.push_back(testing::random_placement(random, 4, 300, 2));
      plan.push_back(testing::random_placement(random, 4, 280, 2));
    }
    std::vector<std::int32_t> live;
    for (std::int32_t node = 0; node < 300; ++node) {
      placed.node_ids.push_back(node);
      if (node % 20 != 3) live.push_back(node);  // 285 are left
    }
    const ClusterPlacement of_layers{for_every_layer(placed.layers, classes), placed.node_ids};
    const Migration all = migrate(of_layers, live, for_every_layer(plan, classes), MappingRule::kGreedy);
    const Migration one = migrate(placed, live, plan, MappingRule::kGreedy, classes);
    CHECK(all.newly_assigned > 0);
    CHECK(one.newly_assigned == all.newly_assigned);
    CHECK(one.moves.transfers == all.moves.transfers);
    CHECK(one.placed.node_ids == all.placed.node_ids);
  }
}

}  // namespace goodput
