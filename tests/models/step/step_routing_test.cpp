#include "models/step/step_routing.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tests/support/random_plan.h"

namespace goodput {
namespace {

std::vector<double> tokens_by_rank(std::int32_t experts, std::int32_t top_k, std::int32_t ep, double skew) {
  TrainingPlan plan = testing::small_plan();
  plan.model.moe = MoeShape{.experts = experts, .top_k = top_k, .expert_ffn = 1024};
  plan.parallel.dp = plan.parallel.ep = ep;
  plan.expert_load.skew = skew;
  std::vector<double> tokens;
  for (const ExpertShare& share : expert_shares(plan, {1000, 1}, 3, 11)) tokens.push_back(share.tokens);
  return tokens;
}

}  // namespace

TEST_CASE("expert load: what the ranks get adds up, and no expert gets a token twice") {
  for (const double skew : {0.1, 1.0, 3.0, 10.0}) {
    for (const int top_k : {1, 2, 8}) {
      const std::vector<double> tokens = tokens_by_rank(64, top_k, 64, skew);
      const double most = *std::max_element(tokens.begin(), tokens.end());
      CHECK(std::accumulate(tokens.begin(), tokens.end(), 0.0) == doctest::Approx(64 * 1000));
      // 64 ranks x 1000 copies; an expert sees at most one of every token's top_k.
      CHECK_MESSAGE(most <= 64 * 1000.0 / top_k * (1 + 1e-12), fmt::format("skew {} top-{}", skew, top_k));
      CHECK(*std::min_element(tokens.begin(), tokens.end()) >= 0);
    }
  }
}

TEST_CASE("expert load: where every expert sees every token skew changes nothing") {
  for (const double tokens : tokens_by_rank(8, 8, 8, 10)) CHECK(tokens == doctest::Approx(1000));
}

TEST_CASE(
    "expert load: popular experts are the same for the same seed and layer, balanced loads are one entry") {
  CHECK(tokens_by_rank(16, 2, 8, 1) == tokens_by_rank(16, 2, 8, 1));
  CHECK(tokens_by_rank(16, 2, 8, 0) == std::vector<double>{1000});
}

}  // namespace goodput
