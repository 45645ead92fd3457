#include "models/step/block_prices.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::small_plan;

// Counts the questions: a microsecond a list of kernels.
class CountedCost final : public CostModel {
 public:
  [[nodiscard]] Cost kernels(std::span<const Kernel> /*sequence*/) const override {
    ++asked_;
    return {1e-6};
  }
  [[nodiscard]] Cost collective(const CollectiveCall& /*call*/) const override { return {1e-5}; }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  mutable int asked_ = 0;
};

}  // namespace

TEST_CASE("block prices: layers of one kind are priced once, whatever their number") {
  TrainingPlan plan = small_plan();
  const auto questions = [&](std::int32_t layers) {
    plan.model.layers = layers;
    const CountedCost cost;
    const BlockPrices prices(plan, cost, drawn_routing(plan, 0), Granularity::kLayers);
    // Attention and FFN, forwards and three kinds of backwards: 8 us a layer. Embedding forwards and
    // backwards, the head as a layer's part.
    CHECK(prices.priced_s() == doctest::Approx(1e-6 * (8 * layers + 2 + 4)));
    return cost.asked();
  };
  CHECK(questions(8) == 8 + 2 + 4);
  CHECK(questions(64) == questions(8));
}

TEST_CASE("block prices: layers with experts, without, and of multi-token prediction are three kinds") {
  TrainingPlan plan = small_plan();
  plan.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 2048, .first_layer = 3};
  plan.model.mtp_layers = 1;
  const CountedCost cost;
  const BlockPrices prices(plan, cost, drawn_routing(plan, 0), Granularity::kLayers);
  CHECK(&prices.layer(0) == &prices.layer(2));
  CHECK(&prices.layer(3) == &prices.layer(7));
  CHECK(&prices.layer(0) != &prices.layer(3));
  CHECK(&prices.layer(3) != &prices.layer(8));
  CHECK(prices.layer(0).forward.parts.size() == 2);  // attention, FFN
  CHECK(prices.layer(3).forward.parts.size() == 3);  // attention, router, experts
  CHECK(prices.layer(8).forward.parts.size() == 4);  // and the projection
  CHECK(prices.ranks() == 1);
}

TEST_CASE(
    "block prices: where loads differ every layer has its own, and whole passes take the slowest rank") {
  TrainingPlan plan = small_plan();
  plan.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 2048};
  plan.parallel.dp = plan.parallel.ep = 4;
  plan.expert_load.skew = 1;
  const RooflineCost cost(plan.cluster, plan.roofline);
  const StepRouting routing = drawn_routing(plan, 0);
  const BlockPrices fine(plan, cost, routing, Granularity::kLayers);
  const BlockPrices coarse(plan, cost, routing, Granularity::kOps);
  CHECK(fine.ranks() == 4);
  CHECK(&fine.layer(0) != &fine.layer(1));
  SimDuration slowest{};
  for (const PartCost& part : fine.layer(0).backward.parts) {
    if (!part.by_rank.empty())
      CHECK(part.time == *std::max_element(part.by_rank.begin(), part.by_rank.end()));
    slowest += part.time;
  }
  REQUIRE(coarse.layer(0).backward.parts.size() == 1);
  CHECK(coarse.layer(0).backward.parts.front().time == slowest);
}

}  // namespace goodput
