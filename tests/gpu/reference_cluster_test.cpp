#include "gpu/reference_cluster.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "gpu/element.h"
#include "tests/gpu/reference_cases.h"
#include "tests/support/routed_cluster.h"

namespace goodput::gpu::reference {
namespace {

using goodput::testing::at;
using goodput::testing::Cluster;
using goodput::testing::GridPoint;
using goodput::testing::kDispatchPolicies;
using goodput::testing::kTroubles;
using goodput::testing::Trouble;
using moe::DispatchPolicy;

// A row says where it comes from and which expert computed it, and where. Whole numbers, exact in fp32.
constexpr int kRank = 0;
constexpr int kToken = 1;
constexpr int kExpert = 2;
constexpr int kHost = 3;
constexpr int kHidden = 4;

ClusterInput<float> marked_input(const Cluster& cluster, const GridPoint& point, DispatchPolicy policy) {
  ClusterInput<float> input = {point.top_k, kHidden, policy, cluster.expert_of, {}, {}};
  for (std::int32_t rank = 0; rank < point.ranks; ++rank) {
    input.x.emplace_back();
    for (std::int32_t token = 0; token < point.tokens; ++token)
      for (const std::int32_t mark : {rank, token, -1, -1})
        input.x.back().push_back(static_cast<float>(mark));
  }
  return input;
}

// Weight 1 for choice `choice` of every token, 0 for the others.
std::vector<std::vector<float>> one_hot(const GridPoint& point, std::int32_t choice) {
  std::vector<float> weights;
  for (std::int32_t slot = 0; slot < point.tokens * point.top_k; ++slot)
    weights.push_back(slot % point.top_k == choice ? 1.0F : 0.0F);
  return std::vector<std::vector<float>>(at(point.ranks), weights);
}

void sign(const Entry& where, float* row) {
  row[kExpert] = static_cast<float>(where.expert);
  row[kHost] = static_cast<float>(where.rank);
}

// Every token comes back from a host of the expert it chose, and dropped ones as zeros.
std::string wrong_answers(const Cluster& cluster, const GridPoint& point, const ClusterRun<float>& run,
                          std::int32_t choice) {
  for (std::int32_t rank = 0; rank < point.ranks; ++rank) {
    for (std::int32_t token = 0; token < point.tokens; ++token) {
      const float* y = run.y[at(rank)].data() + at(token) * kHidden;
      const std::int32_t expert = cluster.expert_of[at(rank)][at(token * point.top_k + choice)];
      if (expert < 0 || run.schedule.status[at(expert)] != moe::DispatchStatus::kOk) {
        if (y[kRank] != 0 || y[kToken] != 0 || y[kExpert] != 0 || y[kHost] != 0)
          return "nothing comes back of a dropped slot";
        continue;
      }
      if (y[kRank] != static_cast<float>(rank) || y[kToken] != static_cast<float>(token))
        return "a token comes back to where it was";
      if (y[kExpert] != static_cast<float>(expert)) return "its expert has seen it";
      const auto host = static_cast<std::int32_t>(y[kHost]);
      if (cluster.placement.replicas[cluster.placement.cell(host, expert)] == 0) return "where it is hosted";
    }
  }
  return {};
}

// What the experts are given is by source, and of a source in the order of its tokens.
std::string wrong_groups(const ClusterRun<float>& run) {
  for (std::size_t rank = 0; rank < run.grouped.size(); ++rank) {
    const RankLayout& layout = run.layouts[rank];
    const auto ranks = at(layout.ranks);
    for (std::size_t group = 0; group + 1 < layout.group_offsets.size(); ++group) {
      float last = -1;
      for (std::int32_t row = layout.group_offsets[group]; row < layout.group_offsets[group + 1]; ++row) {
        const float* marks = run.grouped[rank].data() + at(row) * kHidden;
        if (marks[kRank] != static_cast<float>(group % ranks)) return "a group is by source";
        if (marks[kToken] < last) return "a group keeps the order of tokens";
        last = marks[kToken];
      }
    }
  }
  return {};
}

void check_marked(const GridPoint& point, Trouble trouble, DispatchPolicy policy, RandomStream& random) {
  const Cluster cluster = make_cluster(point, trouble, random);
  ClusterInput<float> input = marked_input(cluster, point, policy);
  for (std::int32_t choice = 0; choice < point.top_k; ++choice) {
    input.weights = one_hot(point, choice);
    const ClusterRun<float> run = emulate_cluster<float>(cluster.placement, input, sign);
    REQUIRE(ends_agree(run.layouts));
    REQUIRE(wrong_groups(run) == "");
    REQUIRE(wrong_answers(cluster, point, run, choice) == "");
  }
}

}  // namespace

TEST_CASE("gpu reference: every token of a cluster comes back from its expert") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "marked rows");
    const auto up_to = [&random](std::uint64_t most) {
      return 1 + static_cast<std::int32_t>(random.below(most));
    };
    const GridPoint point = {up_to(9), up_to(12), up_to(30) - 1, up_to(4)};
    check_marked(point, kTroubles[seed % 3], kDispatchPolicies[seed / 3 % 2], random);
  }
}

TEST_CASE("gpu reference: every token of 1024 ranks comes back from its expert" *
          doctest::test_suite("release-only")) {
  for (const DispatchPolicy policy : kDispatchPolicies) {
    RandomStream random(1, "1024 ranks");
    check_marked({1024, 512, 33, 2}, Trouble::kNone, policy, random);
  }
}

TEST_CASE_TEMPLATE("gpu reference: what was scattered and combined with one weight is what it was", T, Bf16,
                   Fp16, float) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "identity");
    const GridPoint point = {5, 7, 1 + static_cast<std::int32_t>(random.below(20)), 3};
    const Cluster cluster = make_cluster(point, Trouble::kNone, random);
    ClusterInput<T> input = {point.top_k, 9, kDispatchPolicies[seed % 2], cluster.expert_of, {}, {}};
    for (std::vector<std::int32_t>& experts : input.expert_of) {
      input.x.emplace_back();
      input.weights.emplace_back(experts.size(), 0.0F);
      for (std::int32_t token = 0; token < point.tokens; ++token) {
        const std::size_t chosen = at(token * 3) + random.below(3);
        input.weights.back()[chosen] = 1;
        experts[chosen] = std::max(experts[chosen], 0);  // not dropped
        for (int i = 0; i < input.hidden; ++i)
          input.x.back().push_back(from_float<T>(static_cast<float>(random.uniform(0.5, 2))));
      }
    }
    const ClusterRun<T> run = emulate_cluster<T>(cluster.placement, input, [](const Entry&, T*) {});
    for (std::size_t rank = 0; rank < input.x.size(); ++rank)
      for (std::size_t i = 0; i < input.x[rank].size(); ++i)
        REQUIRE(to_float(run.y[rank][i]) == to_float(input.x[rank][i]));
  }
}

TEST_CASE("gpu reference: a cluster by hand") {
  // The placement and tokens of the schedule by hand: expert 0 on ranks 0 and 1, expert 1 on rank 2; rank 0
  // keeps 5 of its 7 tokens. Row of a token: 10 * rank + token. The expert adds 100 * (1 + expert).
  const Placement placement = {3, 2, {1, 0, 1, 0, 0, 2}};
  const ClusterInput<float> input = {
      1,
      1,
      DispatchPolicy::kPacked,
      {{0, 0, 0, 0, 0, 0, 0}, {1, 0, -1, 0}, {1, 1, 1}},
      {{0, 1, 2, 3, 4, 5, 6}, {10, 11, 12, 13}, {20, 21, 22}},
      {},
  };
  const auto run = emulate_cluster<float>(placement, input, [](const Entry& where, float* row) {
    *row += 100.0F * static_cast<float>(1 + where.expert);
  });
  CHECK(run.positions[1] == std::vector<std::int32_t>{2, 0, -1, 1});
  CHECK(run.grouped[0] == std::vector<float>{0, 1, 2, 3, 4});
  CHECK(run.grouped[1] == std::vector<float>{5, 6, 11, 13});
  CHECK(run.grouped[2] == std::vector<float>{10, 20, 21, 22});
  CHECK(run.y[0] == std::vector<float>{100, 101, 102, 103, 104, 105, 106});
  CHECK(run.y[1] == std::vector<float>{210, 111, 0, 113});
  CHECK(run.y[2] == std::vector<float>{220, 221, 222});
  // Rank 1: sends 2 to itself and 1 to rank 2, receives 2 from rank 0 and its own 2.
  const RankLayout& layout = run.layouts[1];
  CHECK(layout.send_counts == std::vector<std::int32_t>{0, 2, 1});
  CHECK(layout.send_offsets == std::vector<std::int32_t>{0, 0, 2, 3});
  CHECK(layout.send_per_rank == std::vector<std::int32_t>{0, 2, 1});
  CHECK(layout.experts_here == std::vector<std::int32_t>{0});
  CHECK(layout.receive_counts == std::vector<std::int32_t>{2, 2, 0});
  CHECK(layout.receive_offsets == std::vector<std::int32_t>{0, 2, 4, 4});
  CHECK(layout.receive_per_rank == std::vector<std::int32_t>{2, 2, 0});
  CHECK(layout.group_offsets == std::vector<std::int32_t>{0, 2, 4, 4});
}

TEST_CASE("gpu reference: rows of two experts are regrouped by expert, then source") {
  // One host of two experts. Rank 0 has tokens for experts 0 1, rank 1 for 0 0 1.
  const Placement placement = {2, 2, {1, 1, 0, 0}};
  const std::vector<moe::Tokens> counts = {1, 1, 2, 1};
  const Schedule schedule = make_schedule(placement, counts, DispatchPolicy::kProportional);
  const RankLayout layout = make_layout(placement, schedule, 0);
  // Received: (rank 0, expert 0), (0, 1), (1, 0) twice, (1, 1).
  CHECK(layout.receive_offsets == std::vector<std::int32_t>{0, 1, 2, 4, 5});
  CHECK(layout.group_offsets == std::vector<std::int32_t>{0, 1, 3, 4, 5});
  CHECK(regroup_rows(layout) == std::vector<std::int32_t>{0, 3, 1, 2, 4});
  // Rank 1 hosts nothing and receives nothing.
  const RankLayout other = make_layout(placement, schedule, 1);
  CHECK(other.experts_here.empty());
  CHECK(other.rows_received() == 0);
  CHECK(other.group_offsets == std::vector<std::int32_t>{0});
  CHECK(regroup_rows(other).empty());
  // Ids that are no expert's have no position.
  CHECK(positions(placement, schedule, other, 1, {1, 2, 0, -1, 0}) ==
        std::vector<std::int32_t>{2, -1, 0, -1, 1});
}

TEST_CASE("gpu reference: ends that disagree are noticed") {
  const Placement placement = {2, 1, {1, 1}};
  const Schedule schedule = make_schedule(placement, {4, 0}, DispatchPolicy::kPacked);
  const std::vector<RankLayout> layouts = {make_layout(placement, schedule, 0),
                                           make_layout(placement, schedule, 1)};
  CHECK(ends_agree(layouts));
  std::vector<RankLayout> wrong = layouts;
  ++wrong[1].receive_counts[0];
  CHECK(!ends_agree(wrong));
  wrong = layouts;
  wrong[1].experts_here = {};
  CHECK(!ends_agree(wrong));
  wrong = layouts;
  wrong[0].send_counts[1] = 0;
  CHECK(!ends_agree(wrong));
}

}  // namespace goodput::gpu::reference
