#include "models/step/token_copies.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/step/layer_work.h"
#include "tests/support/random_plan.h"
#include "tests/support/step_case.h"

namespace goodput {
namespace {

// All subsets of `count` of the numbers below `of`.
std::vector<std::vector<std::int32_t>> subsets(std::int32_t of, std::int32_t count) {
  std::vector<bool> chosen(static_cast<std::size_t>(of));
  std::fill_n(chosen.begin(), count, true);
  std::vector<std::vector<std::int32_t>> all;
  do {
    auto& subset = all.emplace_back();
    for (std::int32_t i = 0; i < of; ++i) {
      if (chosen[static_cast<std::size_t>(i)]) subset.push_back(i);
    }
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return all;
}

// Slow and obvious: over all choices of groups, and of experts in them.
double chance_by_enumeration(const MoeShape& moe, std::int32_t block) {
  const std::int32_t groups = std::max(1, moe.expert_groups);
  const std::int32_t size = moe.experts / groups;
  double hits = 0;
  double choices = 0;
  for (const auto& chosen : subsets(groups, std::max(1, moe.top_groups))) {
    for (const auto& picks : subsets(static_cast<std::int32_t>(chosen.size()) * size, moe.top_k)) {
      for (std::int32_t first = 0; first + block <= moe.experts; first += block) {
        ++choices;
        hits += std::any_of(picks.begin(), picks.end(), [&](std::int32_t pick) {
          const std::int32_t expert = chosen[static_cast<std::size_t>(pick / size)] * size + pick % size;
          return expert >= first && expert < first + block;
        });
      }
    }
  }
  return hits / choices;
}

}  // namespace

TEST_CASE("token copies: the chance that a block has experts of a token equals that of all choices") {
  for (const auto& limit :
       {std::pair{0, 0}, std::pair{2, 1}, std::pair{3, 2}, std::pair{4, 2}, std::pair{6, 4}}) {
    const std::int32_t groups = limit.first;
    const std::int32_t top_groups = limit.second;
    for (const std::int32_t top_k : {1, 2, 3}) {
      for (const std::int32_t block : {1, 2, 3, 4, 6, 12}) {
        const MoeShape moe{.experts = 12, .top_k = top_k, .expert_groups = groups, .top_groups = top_groups};
        if (groups > 0 && top_k > 12 / groups * top_groups) continue;
        CHECK_MESSAGE(
            chance_of_block(moe, block) == doctest::Approx(chance_by_enumeration(moe, block)).epsilon(1e-12),
            "groups ", groups, " top ", top_groups, " k ", top_k, " block ", block);
      }
    }
  }
}

TEST_CASE("token copies: DeepSeek-V3's tokens reach at most four of eight nodes") {
  TrainingPlan plan = testing::shipped_plan("deepseek-v3-2048-h800");
  plan.parallel.ep = 64;
  const BlockScope scope{plan.model, plan.parallel};
  const GpuGroup group{64, 8};
  // A node has a group of experts. A token picks 4 of 8 groups, and misses a picked group with all of 8
  // experts out of 128 with probability C(96,8) / C(128,8) = 0.0927.
  CHECK(other_nodes_of_token(scope, group) == doctest::Approx(7 * 0.5 * (1 - 0.092747)).epsilon(1e-3));
  // Four of 256 experts per GPU: 4 of 128 in half of all cases.
  CHECK(gpus_of_token(scope) == doctest::Approx(64 * 0.5 * 0.22998).epsilon(1e-3));
  // Placed anywhere, the experts of a group are on all nodes: a node of 32 of 256 experts is as likely as
  // without groups.
  const BlockScope scattered{plan.model, plan.parallel, {.per_gpu = 4, .scatter_groups = true}};
  CHECK(other_nodes_of_token(scattered, group) == doctest::Approx(7 * (1 - 0.338168)).epsilon(1e-3));
  plan.model.moe->expert_groups = plan.model.moe->top_groups = 0;
  // Without the limit, a node of 32 experts out of 256 is missed with probability C(224,8) / C(256,8).
  CHECK(other_nodes_of_token(scope, group) == doctest::Approx(7 * (1 - 0.338168)).epsilon(1e-3));
}

TEST_CASE("token copies: a hierarchical dispatcher sends a copy per node, and forwards it to each GPU") {
  TrainingPlan plan = testing::small_plan();
  plan.model.moe = MoeShape{.experts = 16, .top_k = 2, .expert_ffn = 1024};
  plan.parallel.dp = plan.parallel.ep = 16;
  plan.parallel.dispatcher = TokenDispatcher::kHierarchical;
  const LayerWork work(plan.model, plan.parallel, 8);
  const ExpertShare share = work.balanced_share();
  for (const PartWork& part : work.forward(0, share)) {
    if (part.part != LayerPart::kDispatch && part.part != LayerPart::kCombine) continue;
    const CollectiveCall& call = part.collectives.at(0);
    REQUIRE(call.by_link.has_value());
    // 1024 tokens of 512 values in 16 bits. The other node has neither of a token's two experts with
    // probability C(8,2) / C(16,2) = 7/30. The experts are on two GPUs. A token arrives at one GPU of a node,
    // which is another GPU than that of the expert in 7 of 8 cases.
    const double token = 2.0 * 512;
    CHECK(call.by_link->between == doctest::Approx(1024 * token * 23 / 30));
    CHECK(call.by_link->inside == doctest::Approx(1024 * token * 2 * 7 / 8));
    CHECK(call.bytes == 1024 * token * 2);
  }
  // One copy per token and expert sends more between nodes: half of two.
  plan.parallel.dispatcher = TokenDispatcher::kAllToAll;
  for (const PartWork& part : LayerWork(plan.model, plan.parallel, 8).forward(0, share)) {
    if (part.part == LayerPart::kDispatch) CHECK_FALSE(part.collectives.at(0).by_link.has_value());
  }
}

TEST_CASE("token copies: what a GPU sends is never more than with one copy per expert") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    TrainingPlan plan = testing::random_plan(seed);
    if (!plan.model.moe || plan.parallel.ep == 1) continue;
    const LayerWork all_to_all(plan.model, plan.parallel, plan.cluster.gpus_per_node);
    const BlockScope& scope = all_to_all.scope();
    const GpuGroup& group = all_to_all.groups().expert;
    CAPTURE(seed);
    const double top_k = plan.model.moe->top_k;
    CHECK(gpus_of_token(scope) <= top_k * (1 + 1e-12));
    const double far = static_cast<double>(group.size - group.per_node) / group.size;
    CHECK(other_nodes_of_token(scope, group) <= top_k * far * (1 + 1e-12));
  }
}

}  // namespace goodput
