#include "models/step/plan_groups.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

struct Kind {
  std::string_view name;
  RankGroups groups;
};

std::vector<Kind> kinds_of(const RankLayout& ranks) {
  return {{"tensor", ranks.tensor},
          {"context", ranks.context},
          {"data", ranks.data},
          {"expert", ranks.expert},
          {"expert_tensor", ranks.expert_tensor},
          {"expert_data", ranks.expert_data}};
}

// A plan whose experts can be laid over its ranks.
ParallelPlan random_layout(RandomStream& random) {
  const auto size = [&](std::uint64_t largest_power) {
    return static_cast<std::int32_t>(1 << random.below(largest_power + 1));
  };
  ParallelPlan plan;
  plan.tp = size(3);
  plan.cp = size(2);
  plan.dp = size(5) * (random.below(3) == 0 ? 3 : 1);
  const std::int64_t ranks = std::int64_t{plan.dp} * plan.cp * plan.tp;
  do {
    plan.etp = random.below(3) == 0 ? 0 : size(4);
    plan.ep = size(6) * (random.below(4) == 0 ? 3 : 1);
  } while (ranks % (std::int64_t{plan.ep} * plan.expert_tp()) != 0);
  return plan;
}

}  // namespace

TEST_CASE("plan groups: in 2000 random plans, every rank is in exactly one group of each kind") {
  RandomStream random(1, "plan groups");
  for (int i = 0; i < 2000; ++i) {
    const ParallelPlan plan = random_layout(random);
    const std::int64_t ranks = std::int64_t{plan.dp} * plan.cp * plan.tp;
    const auto about = fmt::format("plan {}: dp {} cp {} tp {} ep {} etp {}", i, plan.dp, plan.cp, plan.tp,
                                   plan.ep, plan.etp);
    for (const Kind& kind : kinds_of(RankLayout(plan))) {
      const RankGroups& groups = kind.groups;
      std::map<std::int64_t, std::set<std::int64_t>> members;
      for (std::int64_t rank = 0; rank < ranks; ++rank) members[groups.first_of(rank)].insert(rank);
      bool is_right = std::ssize(members) * groups.size == ranks;
      for (const auto& [first, group] : members) {
        std::set<std::int64_t> expected;
        for (std::int32_t k = 0; k < groups.size; ++k) expected.insert(first + k * groups.stride);
        is_right = is_right && group == expected;
      }
      CHECK_MESSAGE(is_right, about, " ", kind.name);
    }
  }
}

TEST_CASE("plan groups: the GPUs of an expert-parallel group together hold every expert once") {
  RandomStream random(2, "plan groups");
  for (int i = 0; i < 200; ++i) {
    const ParallelPlan plan = random_layout(random);
    const RankLayout layout(plan);
    const std::int64_t ranks = std::int64_t{plan.dp} * plan.cp * plan.tp;
    // By the groups of the copies: ranks with the same part of the same experts.
    std::map<std::int64_t, std::set<std::pair<std::int64_t, std::int64_t>>> parts;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t part = rank - layout.expert_tensor.first_of(rank);
      const std::int64_t experts = (rank - layout.expert.first_of(rank)) / layout.expert.stride;
      parts[layout.expert_data.first_of(rank)].insert({experts, part});
    }
    CHECK(std::ssize(parts) == std::int64_t{plan.ep} * plan.expert_tp());
    std::set<std::pair<std::int64_t, std::int64_t>> all;
    for (const auto& [first, held] : parts) {
      CHECK(held.size() == 1);  // copies hold the same
      all.insert(held.begin(), held.end());
    }
    CHECK(all.size() == parts.size());
  }
}

TEST_CASE("plan groups: groups lie on nodes as their ranks do") {
  RandomStream random(3, "plan groups");
  for (int i = 0; i < 500; ++i) {
    const ParallelPlan plan = random_layout(random);
    const std::int32_t per_node = std::array{2, 4, 8, 16}[random.below(4)];
    for (const Kind& kind : kinds_of(RankLayout(plan))) {
      const RankGroups& groups = kind.groups;
      // Sizes with a factor of 3 do not fill nodes evenly, so that only groups of powers of two are exact.
      if (groups.size % 3 == 0 || groups.stride % 3 == 0) continue;
      std::int32_t together = 0;
      for (std::int32_t k = 0; k < groups.size; ++k) together += k * groups.stride < per_node ? 1 : 0;
      const GpuGroup expected{groups.size, together};
      CHECK_MESSAGE((groups.on_nodes(per_node) == expected), "plan ", i, " ", kind.name);
    }
  }
}

TEST_CASE("plan groups: Qwen3-235B's experts are spread over tensor-parallel GPUs with etp 1") {
  // 16 replicas of 2 GPUs per stage: 32 GPUs on 4 nodes of 8, each with whole experts.
  const ParallelPlan plan{.dp = 16, .pp = 8, .tp = 2, .ep = 32, .etp = 1};
  const PlanGroups groups(plan, 8);
  CHECK(groups.tensor == GpuGroup{2, 2});
  CHECK(groups.data == GpuGroup{16, 4});
  CHECK(groups.expert == GpuGroup{32, 8});
  CHECK(groups.expert_tensor == GpuGroup{1, 1});
  CHECK(groups.expert_data == GpuGroup{1, 1});
  // Cut up over tp, they would need twice as many.
  CHECK(PlanGroups({.dp = 16, .pp = 8, .tp = 2, .ep = 16}, 8).expert == GpuGroup{16, 4});
}

}  // namespace goodput
