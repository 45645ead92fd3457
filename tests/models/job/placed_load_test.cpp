#include "models/job/placed_load.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/dispatch/dispatch_cluster.h"
#include "models/dispatch/dispatch_schedule.h"
#include "models/dispatch/dispatch_tables.h"
#include "models/placement/layer_classes.h"
#include "models/routing/job_routing.h"
#include "sim/base/index.h"
#include "tests/support/routed_cluster.h"

namespace goodput {
namespace {

using moe::ExpertHosts;

using Tokens = std::vector<std::int64_t>;

ExpertHosts hosts_with(std::int32_t ranks, std::int32_t experts, std::vector<std::int32_t> slots) {
  const auto per_rank = static_cast<std::int32_t>(slots.size()) / ranks;
  auto hosts = ExpertHosts::from_slots(ranks, experts, per_rank, slots);
  REQUIRE(hosts);
  return *std::move(hosts);
}

std::vector<GpuLoad> loads_of(const ExpertHosts& hosts, std::int32_t gpus_per_node, const Tokens& tokens) {
  auto loads = placed_loads(hosts, gpus_per_node, tokens);
  REQUIRE_MESSAGE(loads, (loads ? "" : loads.error().message()));
  return *std::move(loads);
}

// From the tables of every rank and expert, pair by pair.
std::vector<GpuLoad> reference_loads(const ExpertHosts& hosts, std::int32_t gpus_per_node,
                                     const Tokens& tokens) {
  std::vector<moe::Tokens> counts;
  for (std::int32_t rank = 0; rank < hosts.ranks(); ++rank) {
    for (const std::int64_t all : tokens) {
      counts.push_back(static_cast<moe::Tokens>(tokens_of_rank(all, hosts.ranks(), rank)));
    }
  }
  moe::DispatchTables tables;
  REQUIRE(tables.update(hosts, {hosts.ranks(), hosts.experts(), counts}));
  const std::int32_t peers = hosts.ranks() > gpus_per_node ? gpus_per_node : 1;
  std::vector<GpuLoad> loads(index(hosts.ranks()));
  const auto cell = [&](std::int32_t rank, std::size_t e) { return index(rank) * tokens.size() + e; };
  for (std::int32_t rank = 0; rank < hosts.ranks(); ++rank)
    loads[index(rank)].computed = tables.processed()[index(rank)];
  for (std::size_t e = 0; e < tokens.size(); ++e) {
    std::int64_t all = 0;
    for (std::int32_t rank = 0; rank < hosts.ranks(); ++rank) all += tables.surplus()[cell(rank, e)];
    for (std::int32_t from = 0; from < hosts.ranks() && all > 0; ++from) {
      for (std::int32_t to = 0; to < hosts.ranks(); ++to) {
        if (from / peers == to / peers) continue;
        const std::size_t c = cell(to, e);
        const double residual = tables.capacity()[c] - tables.local()[c];
        const double moved = tables.surplus()[cell(from, e)] * residual / static_cast<double>(all);
        loads[index(from)].sent += moved;
        loads[index(to)].received += moved;
      }
    }
  }
  return loads;
}

std::vector<std::pair<GpuGroup, std::int32_t>> pairs(const std::vector<ReplicaGroup>& groups) {
  std::vector<std::pair<GpuGroup, std::int32_t>> list;
  for (const ReplicaGroup& group : groups) list.emplace_back(group.group, group.experts);
  return list;
}

// All layers placed in their own way.
std::vector<ReplicaGroup> replicas_of(const std::vector<moe::ExpertHosts>& layers, std::int32_t gpus) {
  return busiest_replicas(layers, LayerClasses::distinct(layers.size()).by_layer(), gpus);
}

}  // namespace

TEST_CASE("placed load: tokens go to the replicas, those for a GPU's own experts stay") {
  // Expert 0 on GPU 0, expert 1 on GPU 1; each GPU routes 640 tokens to expert 0 and 384 to expert 1.
  const auto loads = loads_of(hosts_with(2, 2, {0, 1}), 1, {1280, 768});
  CHECK(loads[0].computed == 1280);
  CHECK(loads[1].computed == 768);
  CHECK(loads[0].sent == 384);
  CHECK(loads[0].received == 640);
  CHECK(loads[1].sent == 640);
  CHECK(loads[1].received == 384);
  // A GPU routes 1024 tokens; half of them would leave it were all experts alike.
  const ExpertShare share = busiest_share(loads, 1, 1024);
  CHECK(share.tokens == 1280);
  CHECK(share.imbalance == 640.0 / 512);
}

TEST_CASE("placed load: what stays within a node does not count, unless there is but one") {
  // Two nodes of two GPUs, an expert a GPU, 100 tokens each: a GPU sends 25 to each GPU.
  const ExpertHosts hosts = hosts_with(4, 4, {0, 1, 2, 3});
  for (const GpuLoad& load : loads_of(hosts, 2, {100, 100, 100, 100})) {
    CHECK(load.sent == 50);
    CHECK(load.received == 50);
  }
  for (const GpuLoad& load : loads_of(hosts, 4, {100, 100, 100, 100})) CHECK(load.sent == 75);
  CHECK(busiest_share(loads_of(hosts, 2, {100, 100, 100, 100}), 2, 100).imbalance == 1);
  CHECK(busiest_share(loads_of(hosts, 4, {100, 100, 100, 100}), 4, 100).imbalance == 1);
}

TEST_CASE("placed load: agrees with the dispatcher's tables on random clusters") {
  RandomStream random(3, "placed loads");
  for (int i = 0; i < 2000; ++i) {
    const std::int32_t gpus = 1 + static_cast<std::int32_t>(random.below(3));
    const std::int32_t ranks = gpus * (1 + static_cast<std::int32_t>(random.below(4)));
    const std::int32_t experts = 1 + static_cast<std::int32_t>(random.below(6));
    const auto hosts =
        testing::hosts_of_replicas(ranks, experts, testing::random_replicas(random, ranks, experts, 0.3));
    REQUIRE(hosts);
    Tokens tokens;
    for (std::int32_t e = 0; e < experts; ++e)
      tokens.push_back(static_cast<std::int64_t>(random.below(3) == 0 ? random.below(4) : random.below(400)));
    const auto found = loads_of(*hosts, gpus, tokens);
    const auto expected = reference_loads(*hosts, gpus, tokens);
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
      INFO(fmt::format("case {} rank {} of {} x {} GPUs", i, rank, ranks / gpus, gpus));
      REQUIRE(found[rank].computed == expected[rank].computed);
      REQUIRE(found[rank].sent == doctest::Approx(expected[rank].sent).epsilon(1e-9));
      REQUIRE(found[rank].received == doctest::Approx(expected[rank].received).epsilon(1e-9));
    }
  }
}

TEST_CASE(
    "placed load: with ranks that differ, loads are those of a cluster that dispatches token by token") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "uneven ranks");
    const auto ranks = static_cast<std::int32_t>(2 + random.below(6));
    const auto experts = static_cast<std::int32_t>(1 + random.below(5));
    const auto hosts =
        testing::hosts_of_replicas(ranks, experts, testing::random_replicas(random, ranks, experts, 0.3));
    REQUIRE(hosts);
    Tokens tokens;
    for (std::int32_t e = 0; e < experts; ++e) tokens.push_back(static_cast<std::int64_t>(random.below(300)));
    const RankSpread spread{.spread = random.uniform(0.01, 1), .seed = seed};
    const std::vector<moe::Tokens> counts = rank_tokens(spread, 3, ranks, tokens);
    // One slot per token, and one that is dropped where a rank has one token fewer.
    const std::int64_t all = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
    const auto slots = static_cast<std::int32_t>((all + ranks - 1) / ranks);
    std::vector<std::int32_t> expert_of;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      for (std::int32_t e = 0; e < experts; ++e)
        expert_of.insert(expert_of.end(), index(counts[index(rank * experts + e)]), e);
      expert_of.resize(index((rank + 1) * slots), -1);
    }
    const auto cluster =
        moe::emulate_cluster(*hosts, {ranks, experts, slots, expert_of}, moe::DispatchPolicy::kProportional);
    REQUIRE(cluster);
    const auto schedule =
        moe::DispatchSchedule::make(*hosts, {ranks, experts, counts}, moe::DispatchPolicy::kProportional);
    REQUIRE(schedule);

    auto loads = placed_loads(*hosts, 1, tokens, spread, 3);
    REQUIRE(loads);
    double sent = 0;
    double received = 0;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const GpuLoad& load = (*loads)[index(rank)];
      REQUIRE(load.computed == cluster->processed[index(rank)]);
      const moe::RankDispatch dispatch(*schedule, rank);
      std::int64_t stays = 0;
      for (std::int32_t e = 0; e < experts; ++e) stays += dispatch.local(e);
      const auto total = [](std::span<const moe::Tokens> some) {
        return std::accumulate(some.begin(), some.end(), std::int64_t{0});
      };
      REQUIRE(load.sent == total(dispatch.send_counts()) - stays);
      REQUIRE(load.received == total(dispatch.receive_counts()) - stays);
      sent += load.sent;
      received += load.received;
    }
    CHECK(sent == cluster->moved);
    CHECK(received == cluster->moved);
  }
}

TEST_CASE(
    "placed load: ranks that differ compute as much as even ones, and in nodes send no less than nothing") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "uneven nodes");
    const std::int32_t ranks = 2 * static_cast<std::int32_t>(1 + random.below(4));
    const auto hosts = testing::hosts_of_replicas(ranks, 4, testing::random_replicas(random, ranks, 4, 0.3));
    REQUIRE(hosts);
    Tokens tokens;
    for (int e = 0; e < 4; ++e) tokens.push_back(static_cast<std::int64_t>(random.below(3000)));
    const auto even = loads_of(*hosts, 2, tokens);
    const auto found = placed_loads(*hosts, 2, tokens, {.spread = 0.3, .seed = seed});
    REQUIRE(found);
    double balance = 0;
    for (std::size_t rank = 0; rank < even.size(); ++rank) {
      CHECK((*found)[rank].computed == even[rank].computed);
      CHECK((*found)[rank].sent > -1e-6);
      CHECK((*found)[rank].received > -1e-6);
      balance += (*found)[rank].sent - (*found)[rank].received;
    }
    CHECK(balance == doctest::Approx(0).epsilon(1e-6));
  }
}

TEST_CASE("placed load: tokens for an expert that nobody hosts are refused") {
  const auto loads = placed_loads(hosts_with(2, 2, {0, 0}), 1, Tokens{10, 7});
  REQUIRE(!loads);
  CHECK(loads.error().message() == "expert 1: expert_lost: 7 tokens are routed to it, but no GPU hosts it");
  CHECK(placed_loads(hosts_with(2, 2, {0, 0}), 1, Tokens{10, 0}));
  const auto wrong = placed_loads(hosts_with(2, 2, {0, 1}), 1, Tokens{10});
  REQUIRE(!wrong);
  CHECK(wrong.error().message() == "loads: are for 1 experts, but the placement is for 2");
}

TEST_CASE("placed load: the GPU with most gradients between nodes says which replicas meet") {
  // Of nodes 0, 1, 2 with two slots: {0 1} {0 1} {0 2}. Node 0 and 1: 2/3 + 1/2, node 2: 2/3.
  const std::vector one = {hosts_with(3, 3, {0, 1, 0, 1, 0, 2})};
  CHECK(pairs(replicas_of(one, 1)) ==
        std::vector<std::pair<GpuGroup, std::int32_t>>{{{2, 1}, 1}, {{3, 1}, 1}});
  // A second layer where node 2 has two experts on all nodes: 2/3 + 4/3 against 7/6 + 4/3: still node 0.
  const std::vector two = {one.front(), hosts_with(3, 2, {0, 1, 0, 1, 0, 1})};
  CHECK(pairs(replicas_of(two, 1)) ==
        std::vector<std::pair<GpuGroup, std::int32_t>>{{{2, 1}, 1}, {{3, 1}, 3}});
}

TEST_CASE("placed load: replicas on one GPU add up for nothing, those of a node inside it") {
  // Both slots of the GPU hold the only expert.
  CHECK(replicas_of(std::vector{hosts_with(1, 1, {0, 0})}, 1).empty());
  CHECK(replicas_of(std::vector{hosts_with(2, 2, {0, 1})}, 1).empty());
  // Two nodes of two GPUs: expert 0 on both GPUs of node 0 and on one of node 1. The first GPU of node 0 has
  // the ring between nodes and the sum inside.
  CHECK(pairs(replicas_of(std::vector{hosts_with(4, 2, {0, 0, 0, 1})}, 2)) ==
        std::vector<std::pair<GpuGroup, std::int32_t>>{{{2, 1}, 1}, {{2, 2}, 1}});
}

}  // namespace goodput
