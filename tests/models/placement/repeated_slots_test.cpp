// Slots that repeat an expert of their GPU, by hand and counted expert by expert.
#include "models/placement/repeated_slots.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "sim/base/random.h"

namespace goodput {

TEST_CASE("repeated slots: none if every GPU holds different experts") {
  CHECK_FALSE(repeated_slots(std::vector<ExpertPlacement>{{3, 2, 2, {0, 1, 0, 2}}, {3, 2, 2, {0, 1, 1, 2}}}));
  CHECK_FALSE(repeated_slots({}));
}

TEST_CASE("repeated slots: every replica of an expert on a GPU but one counts, and the first is named") {
  // Layer 0 has none. In layer 1, GPU 1 holds expert 2 three times, which are two slots too many, and GPU 2
  // holds experts 0 and 3 twice.
  const std::vector<ExpertPlacement> layers = {{4, 3, 4, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}},
                                               {4, 3, 4, {0, 1, 2, 3, 1, 2, 2, 2, 0, 0, 3, 3}}};
  const auto repeated = repeated_slots(layers);
  REQUIRE(repeated);
  CHECK(repeated->slots == 4);
  CHECK(repeated->of == 24);
  CHECK((repeated->layer == 1 && repeated->gpu == 1 && repeated->expert == 2));
}

TEST_CASE("repeated slots: as many as slots minus different experts, GPU by GPU") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "repeated slots");
    const auto below = [&random](std::uint64_t n) { return static_cast<std::int32_t>(random.below(n)); };
    std::vector<ExpertPlacement> layers;
    std::int64_t expected = 0;
    for (std::int32_t l = 1 + below(3); l > 0; --l) {
      ExpertPlacement layer{1 + below(20), 1 + below(5), 1 + below(6), {}};
      for (std::int32_t gpu = 0; gpu < layer.nodes; ++gpu) {
        std::vector<std::int32_t> row;
        for (std::int32_t slot = 0; slot < layer.slots; ++slot)
          row.push_back(below(static_cast<std::uint64_t>(layer.experts)));
        std::ranges::sort(row);
        layer.expert_at.insert(layer.expert_at.end(), row.begin(), row.end());
        for (std::int32_t e = 0; e < layer.experts; ++e)
          expected += std::max<std::int64_t>(0, std::ranges::count(row, e) - 1);
      }
      layers.push_back(std::move(layer));
    }
    const auto repeated = repeated_slots(layers);
    REQUIRE((repeated ? repeated->slots : 0) == expected);
    if (!repeated) continue;
    const auto first = layers[repeated->layer].node(repeated->gpu);
    REQUIRE(std::ranges::count(first, repeated->expert) > 1);
  }
}

}  // namespace goodput
