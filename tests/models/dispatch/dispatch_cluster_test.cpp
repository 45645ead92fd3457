#include "models/dispatch/dispatch_cluster.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "models/dispatch/dispatch_schedule.h"
#include "tests/reference/reference_dispatch.h"
#include "tests/support/routed_cluster.h"

namespace goodput::moe {
namespace {

using testing::kDispatchPolicies;

struct Shape {
  std::int32_t ranks = 1;
  std::int32_t experts = 1;
  std::int32_t tokens = 0;  // of a rank
  std::int32_t top_k = 1;
};

// A placement of about four replicas a rank (all experts where these are fewer) and routed slots.
struct SlotCluster {
  ExpertHosts hosts;
  std::vector<std::int32_t> expert_of;
  Shape shape;

  [[nodiscard]] RoutedSlots routed() const {
    return {shape.ranks, shape.experts, shape.tokens * shape.top_k, expert_of};
  }
};

SlotCluster slot_cluster(const Shape& shape, double failed, RandomStream& random) {
  std::vector<std::int32_t> replicas =
      testing::random_replicas(random, shape.ranks, shape.experts, std::min(1.0, 4.0 / shape.experts));
  testing::fail_ranks(replicas, static_cast<std::size_t>(shape.experts), failed, random);
  auto hosts = testing::hosts_of_replicas(shape.ranks, shape.experts, replicas);
  REQUIRE(hosts);
  std::vector<std::int32_t> expert_of = testing::random_slots(
      random, shape.ranks, shape.experts, shape.tokens, shape.top_k, failed > 0 ? 0.05 : 0);
  for (std::int32_t& expert : expert_of)
    if (expert >= 0 && hosts->replicas_of(expert) == 0)
      expert = -1;  // the router masks experts that are lost
  return {*std::move(hosts), std::move(expert_of), shape};
}

// Emulation checks every slot itself; what is left is that none is missing. Empty: all is well.
std::string what_is_wrong(const SlotCluster& cluster, DispatchPolicy policy) {
  const auto result = emulate_cluster(cluster.hosts, cluster.routed(), policy);
  if (!result) return result.error().message();
  const auto slots = static_cast<std::int64_t>(cluster.expert_of.size());
  const auto dropped =
      std::count_if(cluster.expert_of.begin(), cluster.expert_of.end(), [](auto e) { return e < 0; });
  if (result->dropped != dropped || result->delivered != slots - dropped) return "slots are missing";
  const auto processed = std::accumulate(result->processed.begin(), result->processed.end(), std::int64_t{0});
  return processed == result->delivered ? "" : "what ranks compute is not what was delivered";
}

// The levels of ranks, experts, tokens and top-k.
const std::vector<std::vector<std::int32_t>>& levels() {
  static const std::vector<std::vector<std::int32_t>> all = {
      {1, 2, 7, 8, 64, 1000, 1024}, {1, 8, 96, 512}, {0, 1, 31, 32, 33, 2047, 65536}, {1, 2, 8}};
  return all;
}

using Row = std::vector<std::size_t>;  // an index into each of levels()

bool affordable(const Row& row) {
  const std::int64_t ranks = levels()[0][row[0]];
  const std::int64_t slots = ranks * levels()[2][row[2]] * levels()[3][row[3]];
  return slots <= 5'000'000 && (ranks < 1000 || levels()[2][row[2]] <= 2047);
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (std::size_t r = 0; r < levels()[0].size(); ++r)
    for (std::size_t e = 0; e < levels()[1].size(); ++e)
      for (std::size_t t = 0; t < levels()[2].size(); ++t)
        for (std::size_t k = 0; k < levels()[3].size(); ++k)
          if (affordable({r, e, t, k})) rows.push_back({r, e, t, k});
  return rows;
}

// The pairs of levels that a row holds, as numbers.
std::vector<std::size_t> pairs_of(const Row& row) {
  std::vector<std::size_t> pairs;
  for (std::size_t a = 0; a < row.size(); ++a)
    for (std::size_t b = a + 1; b < row.size(); ++b) pairs.push_back(((a * 4 + b) * 8 + row[a]) * 8 + row[b]);
  return pairs;
}

// Rows that hold every pair of levels that an affordable row holds: greedily, the row with most new pairs.
std::vector<Shape> pairwise_shapes() {
  std::vector<bool> covered(4 * 4 * 8 * 8, false);
  std::vector<Shape> shapes;
  const std::vector<Row> rows = all_rows();
  for (;;) {
    const Row* best = nullptr;
    std::int64_t most = 0;
    for (const Row& row : rows) {
      const auto pairs = pairs_of(row);
      const auto gain =
          std::count_if(pairs.begin(), pairs.end(), [&](std::size_t pair) { return !covered[pair]; });
      if (gain > most) {
        most = gain;
        best = &row;
      }
    }
    if (best == nullptr) return shapes;
    for (const std::size_t pair : pairs_of(*best)) covered[pair] = true;
    shapes.push_back(
        {levels()[0][(*best)[0]], levels()[1][(*best)[1]], levels()[2][(*best)[2]], levels()[3][(*best)[3]]});
  }
}

std::vector<float> random_rows(std::size_t count, RandomStream& random) {
  std::vector<float> rows;
  for (std::size_t i = 0; i < count; ++i) rows.push_back(static_cast<float>(random.uniform(-1, 1)));
  return rows;
}

}  // namespace

TEST_CASE("dispatch: what a cluster moves, by hand") {
  // Expert 0 on ranks 0 and 1, its 7 + 2 tokens are 5 + 4 to compute: rank 0 sends 2 to rank 1. Expert 1 is
  // on rank 2 alone, which gets the one of rank 1.
  const auto hosts = ExpertHosts::from_slots(3, 2, 1, std::vector<std::int32_t>{0, 0, 1});
  REQUIRE(hosts);
  const std::vector<std::int32_t> expert_of = {0, 0, 0,  0,  0,  0,  0,    // rank 0
                                               1, 0, -1, 0,  -1, -1, -1,   // rank 1
                                               1, 1, 1,  -1, -1, -1, -1};  // rank 2
  for (const DispatchPolicy policy : kDispatchPolicies) {
    const auto result = emulate_cluster(*hosts, {3, 2, 7, expert_of}, policy);
    REQUIRE(result);
    CHECK(result->delivered == 13);
    CHECK(result->dropped == 8);
    CHECK(result->moved == 3);
    CHECK(result->processed == std::vector<std::int64_t>{5, 4, 4});
    CHECK(result->sent_to == std::vector<std::int32_t>{1, 1, 0});
    CHECK(result->received_from == std::vector<std::int32_t>{0, 1, 1});
  }
}

TEST_CASE("dispatch: a whole cluster delivers every slot once, for pairs of all shapes" *
          doctest::test_suite("release-only")) {
  std::uint64_t seed = 0;
  for (const Shape& shape : pairwise_shapes()) {
    RandomStream random(++seed, "shape");
    const SlotCluster cluster = slot_cluster(shape, seed % 3 == 0 ? 0.3 : 0, random);
    for (const DispatchPolicy policy : kDispatchPolicies) {
      const std::string wrong = what_is_wrong(cluster, policy);
      CHECK_MESSAGE(
          wrong.empty(),
          fmt::format("{} ranks, {} experts, {} tokens, top-{}, seed {}, policy {}: {}", shape.ranks,
                      shape.experts, shape.tokens, shape.top_k, seed, static_cast<int>(policy), wrong));
    }
  }
}

TEST_CASE("dispatch: random clusters with failed ranks deliver every slot that can be") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomStream random(seed, "failures");
    const auto below = [&](std::uint64_t bound) { return static_cast<std::int32_t>(random.below(bound)); };
    const Shape shape = {1 + below(12), 1 + below(16), below(30), 1 + below(4)};
    const SlotCluster cluster = slot_cluster(shape, seed % 2 == 0 ? 0 : random.uniform(), random);
    for (const DispatchPolicy policy : kDispatchPolicies) {
      const std::string wrong = what_is_wrong(cluster, policy);
      REQUIRE_MESSAGE(wrong.empty(),
                      fmt::format("seed {}, policy {}: {}", seed, static_cast<int>(policy), wrong));
    }
  }
}

TEST_CASE("dispatch: what is scattered and weighted with ones and zeros comes back") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed, "rows");
    const Shape shape = {5, 6, 17, 1 + static_cast<std::int32_t>(seed % 4)};
    const SlotCluster cluster = slot_cluster(shape, 0, random);
    const auto counts = count_slots(cluster.routed());
    REQUIRE(counts);
    const auto schedule = DispatchSchedule::make(cluster.hosts, {shape.ranks, shape.experts, *counts},
                                                 kDispatchPolicies[seed % 2]);
    REQUIRE(schedule);
    const auto rank = static_cast<std::int32_t>(seed % 5);
    const std::vector<std::int64_t> positions =
        RankDispatch(*schedule, rank).positions(cluster.routed().of_rank(rank));

    std::vector<std::int64_t> sorted = positions;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) REQUIRE(sorted[i] == static_cast<std::int64_t>(i));

    constexpr std::size_t kWidth = 3;
    const auto top_k = static_cast<std::size_t>(shape.top_k);
    const reference::RowCopies copies{positions, top_k, kWidth};
    const std::vector<float> rows = random_rows(17 * kWidth, random);
    std::vector<float> one_hot(17 * top_k, 0);
    for (std::size_t token = 0; token < 17; ++token) one_hot[token * top_k + random.below(top_k)] = 1;
    REQUIRE_MESSAGE(reference::combine(copies, reference::scatter(copies, rows), one_hot) == rows,
                    fmt::format("seed {}", seed));
  }
}

TEST_CASE("dispatch: a kernel that sees one slot finds the position that the sender's list has") {
  // Its thread knows the slot's number among the rank's tokens for the expert, and nothing of other slots.
  RandomStream random(3, "one slot");
  const SlotCluster cluster = slot_cluster({7, 5, 200, 2}, 0, random);
  const auto counts = count_slots(cluster.routed());
  REQUIRE(counts);
  std::int64_t surplus = 0;
  for (const DispatchPolicy policy : kDispatchPolicies) {
    const auto schedule = DispatchSchedule::make(cluster.hosts, {7, 5, *counts}, policy);
    REQUIRE(schedule);
    for (std::int32_t rank = 0; rank < 7; ++rank) {
      const RankDispatch dispatch(*schedule, rank);
      const std::vector<std::int64_t> offsets = dispatch.send_offsets();
      const std::span<const std::int32_t> expert_of = cluster.routed().of_rank(rank);
      const std::vector<std::int64_t> positions = dispatch.positions(expert_of);
      std::vector<Tokens> seen(5, 0);
      for (std::size_t slot = 0; slot < expert_of.size(); ++slot) {
        const std::int32_t expert = expert_of[slot];
        const Tokens number = seen[static_cast<std::size_t>(expert)]++ - dispatch.local(expert);
        if (number < 0) continue;  // stays
        const Interval own = dispatch.surplus(expert);
        const auto residuals = schedule->residuals_of(expert);
        const SurplusMap map = schedule->map_of(expert);
        const auto host = static_cast<std::size_t>(host_of_place(residuals.data(),
                                                                 static_cast<std::int32_t>(residuals.size()),
                                                                 residual_place(map, own.first + number)));
        const Tokens earlier = pair_count(map, {own.first, number}, residuals[host]);
        REQUIRE(positions[slot] == offsets[cluster.hosts.entries_of(expert)[host]] + earlier);
        ++surplus;
      }
    }
  }
  CHECK(surplus > 1000);
}

TEST_CASE("dispatch: what is wrong with routed slots is named") {
  const auto hosts = ExpertHosts::from_slots(2, 2, 1, std::vector<std::int32_t>{0, 0});
  REQUIRE(hosts);
  const auto problem = [&](std::int32_t slots, const std::vector<std::int32_t>& expert_of) {
    const auto result = emulate_cluster(*hosts, {2, 2, slots, expert_of}, DispatchPolicy::kPacked);
    return result ? "" : result.error().message();
  };
  CHECK(problem(1, {0, -1}) == "");
  CHECK(problem(2, {0, -1}) == "routed slots: must have 2 ranks x 2 slots, not 2 slots");
  CHECK(problem(1, {0, 2}) == "routed slots, rank 1: expert must be 0 to 1, or -1 for a dropped slot, not 2");
  CHECK(problem(1, {1, 0}) ==
        "expert 1: expert_lost: 1 tokens are routed to it, but no rank hosts it; restore it from a "
        "checkpoint or mask "
        "it in the router");
}

}  // namespace goodput::moe
