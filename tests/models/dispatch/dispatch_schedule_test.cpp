#include "models/dispatch/dispatch_schedule.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "tests/reference/reference_dispatch.h"
#include "tests/support/random_cases.h"
#include "tests/support/routed_cluster.h"

namespace goodput::moe {
namespace {

using testing::kDispatchPolicies;
using testing::nasty_cluster;
using testing::RoutedCluster;
using testing::zipf_cluster;
using Matrix = std::vector<std::vector<std::int64_t>>;  // [source][destination]

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

reference::ExpertCase expert_case(const RoutedCluster& cluster, std::int32_t expert) {
  reference::ExpertCase result;
  result.replicas.assign(at(cluster.hosts.ranks()), 0);
  for (std::int32_t rank = 0; rank < cluster.hosts.ranks(); ++rank)
    result.tokens.push_back(cluster.routed().at(rank, expert));
  for (const std::uint32_t i : cluster.hosts.entries_of(expert)) {
    const HostedExpert& entry = cluster.hosts.entries()[i];
    result.replicas[at(entry.rank)] = entry.replicas;
  }
  const auto tokens = std::accumulate(result.tokens.begin(), result.tokens.end(), std::int64_t{0});
  result.rotation =
      token_quota(expert, static_cast<Tokens>(tokens), cluster.hosts.replicas_of(expert)).rotation;
  return result;
}

// What every rank sends, of one expert, and whether the receivers say the same.
struct Sent {
  Matrix counts;
  bool ends_agree = true;
};

Sent sent(const ExpertHosts& hosts, const std::vector<RankDispatch>& ranks, std::int32_t expert) {
  Sent result{Matrix(ranks.size(), std::vector<std::int64_t>(ranks.size(), 0))};
  for (const std::uint32_t i : hosts.entries_of(expert)) {
    const std::int32_t destination = hosts.entries()[i].rank;
    const std::size_t columns = hosts.of_rank(destination).size();
    for (std::size_t source = 0; source < ranks.size(); ++source) {
      const Tokens count = ranks[source].send_counts()[i];
      result.counts[source][at(destination)] = count;
      const std::size_t column = i - hosts.first_entry(destination);
      result.ends_agree &= count == ranks[at(destination)].receive_counts()[source * columns + column];
    }
  }
  return result;
}

std::int64_t column_sum(const Matrix& counts, std::size_t column) {
  std::int64_t sum = 0;
  for (const auto& row : counts) sum += row[column];
  return sum;
}

// Messages to other ranks.
std::int64_t messages(const Matrix& counts) {
  std::int64_t found = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    for (std::size_t j = 0; j < counts.size(); ++j) found += i != j && counts[i][j] > 0;
  return found;
}

// The first property of an exact dispatch of one expert that `counts` break; empty: none.
std::string broken_property(const reference::ExpertCase& expert, const Matrix& counts,
                            DispatchPolicy policy) {
  const std::size_t ranks = counts.size();
  const auto tokens = std::accumulate(expert.tokens.begin(), expert.tokens.end(), std::int64_t{0});
  const auto replicas = std::accumulate(expert.replicas.begin(), expert.replicas.end(), std::int64_t{0});
  std::vector<std::int64_t> capacity;
  std::vector<std::int64_t> surplus;
  for (std::size_t j = 0; j < ranks; ++j) {
    capacity.push_back(column_sum(counts, j));
    surplus.push_back(expert.tokens[j] - std::min(expert.tokens[j], capacity[j]));
    const auto& row = counts[j];
    if (*std::min_element(row.begin(), row.end()) < 0) return "no count is negative";
    if (std::accumulate(row.begin(), row.end(), std::int64_t{0}) != expert.tokens[j])
      return "rows are what is routed";
    if (expert.replicas[j] == 0 && capacity[j] != 0) return "nothing goes where no replica is";
    const std::int64_t floor = replicas == 0 ? 0 : tokens / replicas;
    if (capacity[j] < floor * expert.replicas[j] || capacity[j] > (floor + 1) * expert.replicas[j])
      return "replicas take floor or ceil";
    if (row[j] != std::min(expert.tokens[j], capacity[j])) return "a rank keeps what it can";
  }
  const auto moved = std::accumulate(surplus.begin(), surplus.end(), std::int64_t{0});
  std::int64_t sources = 0;
  std::int64_t hosts = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    sources += surplus[i] > 0;
    hosts += capacity[i] > expert.tokens[i];
    for (std::size_t j = 0; j < ranks && policy == DispatchPolicy::kProportional && moved > 0; ++j) {
      const std::int64_t residual = capacity[j] - std::min(expert.tokens[j], capacity[j]);
      if (i != j && std::abs(counts[i][j] * moved - surplus[i] * residual) > 16 * moved)
        return "a count is within 16 of the exact proportion";
    }
  }
  if (policy == DispatchPolicy::kPacked && messages(counts) > std::max<std::int64_t>(sources + hosts - 1, 0))
    return "packed messages are fewer than their ends";
  return {};
}

std::vector<RankDispatch> all_ranks(const DispatchSchedule& schedule) {
  std::vector<RankDispatch> ranks;
  for (std::int32_t rank = 0; rank < schedule.hosts().ranks(); ++rank) ranks.emplace_back(schedule, rank);
  return ranks;
}

enum class Oracle { kCompare, kLeaveOut };

// The first thing wrong with the dispatch of a cluster; empty: nothing.
std::string what_is_wrong(const RoutedCluster& cluster, DispatchPolicy policy, Oracle oracle) {
  const auto schedule = DispatchSchedule::make(cluster.hosts, cluster.routed(), policy);
  if (!schedule) return schedule.error().message();
  const std::vector<RankDispatch> ranks = all_ranks(*schedule);
  for (std::int32_t expert = 0; expert < cluster.hosts.experts(); ++expert) {
    reference::ExpertCase one = expert_case(cluster, expert);
    const Sent now = sent(cluster.hosts, ranks, expert);
    if (!now.ends_agree) return "sender and receiver disagree";
    std::string broken = broken_property(one, now.counts, policy);
    if (!broken.empty()) return broken;
    one.multiplier = schedule->map_of(expert).multiplier;
    if (oracle == Oracle::kCompare && now.counts != reference::dispatch_one_by_one(one).counts)
      return fmt::format("expert {} is not dispatched as one by one", expert);
  }
  return {};
}

std::string wrong_tables(const RoutedCluster& cluster, DispatchTables& tables) {
  const Status updated = tables.update(cluster.hosts, cluster.routed());
  if (!updated) return updated.error().message();
  const auto experts = at(cluster.hosts.experts());
  std::vector<std::int64_t> processed(at(cluster.hosts.ranks()), 0);
  for (std::size_t expert = 0; expert < experts; ++expert) {
    const reference::ExpertDispatch one_by_one =
        reference::dispatch_one_by_one(expert_case(cluster, static_cast<std::int32_t>(expert)));
    for (std::size_t rank = 0; rank < processed.size(); ++rank) {
      const std::size_t cell = rank * experts + expert;
      const std::int64_t capacity = one_by_one.capacity[rank];
      const std::int64_t local = std::min<std::int64_t>(capacity, cluster.counts[cell]);
      if (tables.capacity()[cell] != capacity) return "capacity";
      if (tables.local()[cell] != local) return "local";
      if (tables.surplus()[cell] != cluster.counts[cell] - local) return "surplus";
      processed[rank] += capacity;
    }
  }
  return std::ranges::equal(processed, tables.processed()) ? "" : "processed";
}

ExpertHosts slots(std::int32_t ranks, std::int32_t experts, std::int32_t of_rank,
                  const std::vector<std::int32_t>& expert_at) {
  auto hosts = ExpertHosts::from_slots(ranks, experts, of_rank, expert_at);
  REQUIRE_MESSAGE(hosts, (hosts ? "" : hosts.error().message()));
  return *std::move(hosts);
}

std::string hosts_error(const Result<ExpertHosts>& hosts) {
  return hosts ? "" : hosts.error().message();
}

std::string tables_error(const RoutedCluster& cluster) {
  const Status status = DispatchTables().update(cluster.hosts, cluster.routed());
  return status ? "" : status.error().message();
}

}  // namespace

TEST_CASE("dispatch: a cluster by hand") {
  // Expert 0 on ranks 0 and 1, tokens 7 2 0: 9 over 2 replicas; rotation frac(0) = 0, so rank 0 takes 5, rank
  // 1 4. Rank 0 keeps 5, rank 1 its 2; the surplus of 2 goes to rank 1. Expert 1 on rank 2 twice, tokens 0 1
  // 3: all to it.
  const RoutedCluster cluster{slots(3, 2, 2, {0, kEmptySlot, kEmptySlot, 0, 1, 1}), {7, 0, 2, 1, 0, 3}};
  for (const DispatchPolicy policy : kDispatchPolicies) {
    const auto schedule = DispatchSchedule::make(cluster.hosts, cluster.routed(), policy);
    REQUIRE(schedule);
    // Entries: (rank 0, expert 0), (rank 1, expert 0), (rank 2, expert 1).
    const RankDispatch first(*schedule, 0);
    CHECK(std::ranges::equal(first.send_counts(), std::vector<Tokens>{5, 2, 0}));
    CHECK(std::ranges::equal(first.receive_counts(), std::vector<Tokens>{5, 0, 0}));
    CHECK(first.send_offsets() == std::vector<std::int64_t>{0, 5, 7, 7});
    const RankDispatch second(*schedule, 1);
    CHECK(std::ranges::equal(second.send_counts(), std::vector<Tokens>{0, 2, 1}));
    CHECK(std::ranges::equal(second.receive_counts(), std::vector<Tokens>{2, 2, 0}));
    CHECK(std::ranges::equal(RankDispatch(*schedule, 2).receive_counts(), std::vector<Tokens>{0, 1, 3}));
    // Slots of rank 1 in order: expert 1, expert 0, dropped, expert 0.
    CHECK(second.positions(std::vector<std::int32_t>{1, 0, -1, 0}) == std::vector<std::int64_t>{2, 0, -1, 1});
  }
  DispatchTables tables;
  REQUIRE(tables.update(cluster.hosts, cluster.routed()));
  CHECK(std::ranges::equal(tables.capacity(), std::vector<Tokens>{5, 0, 4, 0, 0, 4}));
  CHECK(std::ranges::equal(tables.local(), std::vector<Tokens>{5, 0, 2, 0, 0, 3}));
  CHECK(std::ranges::equal(tables.surplus(), std::vector<Tokens>{2, 0, 0, 1, 0, 0}));
  CHECK(std::ranges::equal(tables.processed(), std::vector<std::int64_t>{5, 4, 4}));
}

TEST_CASE("dispatch: random clusters are dispatched exactly, as one token after the other would be" *
          doctest::test_suite("slow")) {
  std::int64_t experts = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(24'000); ++seed) {
    RandomStream random(seed, "nasty cluster");
    const RoutedCluster cluster = nasty_cluster({}, random);
    for (const DispatchPolicy policy : kDispatchPolicies) {
      const std::string wrong = what_is_wrong(cluster, policy, Oracle::kCompare);
      REQUIRE_MESSAGE(wrong.empty(),
                      fmt::format("seed {}, policy {}: {}", seed, static_cast<int>(policy), wrong));
      experts += cluster.hosts.experts();
    }
  }
  CHECK(experts >= static_cast<std::int64_t>(testing::cases(100'000)));
}

TEST_CASE("dispatch: larger clusters with many tokens are dispatched exactly") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    RandomStream random(seed, "larger cluster");
    const RoutedCluster cluster = nasty_cluster({64, 12, 30'000'000}, random);
    for (const DispatchPolicy policy : kDispatchPolicies) {
      const std::string wrong = what_is_wrong(cluster, policy, Oracle::kLeaveOut);
      REQUIRE_MESSAGE(wrong.empty(),
                      fmt::format("seed {}, policy {}: {}", seed, static_cast<int>(policy), wrong));
    }
  }
}

TEST_CASE("dispatch: tables hold what every rank keeps, sends away and computes") {
  DispatchTables tables;  // one for all: what is left from one update must not show in the next
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomStream random(seed, "tables");
    const std::string wrong = wrong_tables(nasty_cluster({}, random), tables);
    REQUIRE_MESSAGE(wrong.empty(), fmt::format("seed {}: {}", seed, wrong));
  }
}

TEST_CASE("dispatch: all tokens of all ranks to one expert are shared by its hosts") {
  // 64 ranks x 65536 tokens over 4 replicas, on ranks 0, 20, 40 and 60: 2^22 / 4 = 1048576 each, its own
  // among them.
  std::vector<std::int32_t> expert_at(64, 1);
  for (const std::size_t rank : {0U, 20U, 40U, 60U}) expert_at[rank] = 0;
  RoutedCluster cluster{slots(64, 2, 1, expert_at), std::vector<Tokens>(128, 0)};
  for (std::size_t rank = 0; rank < 64; ++rank) cluster.counts[2 * rank] = 65536;
  for (const DispatchPolicy policy : kDispatchPolicies)
    CHECK(what_is_wrong(cluster, policy, Oracle::kLeaveOut) == "");
  DispatchTables tables;
  REQUIRE(tables.update(cluster.hosts, cluster.routed()));
  for (std::size_t rank = 0; rank < 64; ++rank)
    CHECK(tables.processed()[rank] == (rank % 20 == 0 ? 1'048'576 : 0));
}

TEST_CASE("dispatch: buffers beyond 2^31 tokens have their offsets") {
  // Rank 0 holds 2,000,000,000 tokens for each of three experts; rank 1 hosts them.
  const Tokens many = 2'000'000'000;
  const RoutedCluster cluster{slots(2, 3, 3, {-1, -1, -1, 0, 1, 2}), {many, many, many, 0, 0, 0}};
  for (const DispatchPolicy policy : kDispatchPolicies) {
    const auto schedule = DispatchSchedule::make(cluster.hosts, cluster.routed(), policy);
    REQUIRE(schedule);
    CHECK(RankDispatch(*schedule, 0).send_offsets() ==
          std::vector<std::int64_t>{0, 2'000'000'000, 4'000'000'000, 6'000'000'000});
    CHECK(std::ranges::equal(RankDispatch(*schedule, 1).receive_counts(),
                             std::vector<Tokens>{many, many, many, 0, 0, 0}));
  }
  DispatchTables tables;
  REQUIRE(tables.update(cluster.hosts, cluster.routed()));
  CHECK(tables.processed()[1] == 6'000'000'000);
}

TEST_CASE("dispatch: replicas in slots are counted by rank and expert") {
  const ExpertHosts by_slot = slots(2, 3, 3, {2, 0, 2, kEmptySlot, 2, kEmptySlot});
  const HostedExpert counted[] = {{.rank = 0, .expert = 0, .replicas = 1, .before = 0},
                                  {.rank = 0, .expert = 2, .replicas = 2, .before = 0},
                                  {.rank = 1, .expert = 2, .replicas = 1, .before = 2}};
  const auto same = [](const HostedExpert& a, const HostedExpert& b) {
    return a.rank == b.rank && a.expert == b.expert && a.replicas == b.replicas && a.before == b.before;
  };
  CHECK(std::ranges::equal(by_slot.entries(), counted, same));
  CHECK(by_slot.of_rank(1).size() == 1);
  CHECK(by_slot.of_rank(1)[0].before == 2);
  CHECK(std::ranges::equal(by_slot.entries_of(2), std::vector<std::uint32_t>{1, 2}));
  CHECK(by_slot.replicas_of(2) == 3);
  CHECK(by_slot.entries_of(1).empty());
}

TEST_CASE("dispatch: what is wrong with the input is named with its place") {
  const std::vector<std::int32_t> bad = {0, 3};
  CHECK(hosts_error(ExpertHosts::from_slots(2, 3, 1, bad)) ==
        "placement, rank 1: the expert in a slot must be 0 to 2, or -1 for an empty slot, not 3");
  CHECK(hosts_error(ExpertHosts::from_slots(2, 3, 2, bad)) ==
        "placement: must have 2 ranks x 2 values, not 2 values");
  CHECK(hosts_error(ExpertHosts::from_slots(0, 3, 2, {})) ==
        "placement: must have at least 1 rank and 1 expert, not 0 ranks, 3 experts and 2 columns");

  const ExpertHosts hosts = slots(2, 2, 1, {0, 0});
  CHECK(tables_error({hosts, {4, 0, 0, 0}}) == "");
  CHECK(tables_error({hosts, {4, 2, 0, 3}}) ==
        "expert 1: expert_lost: 5 tokens are routed to it, but no rank hosts it; restore it from a "
        "checkpoint or mask "
        "it in the router");
  CHECK(tables_error({hosts, {4, 0, -3, 0}}) == "routed tokens, rank 1, expert 0: must be 0 or more, not -3");
  CHECK(tables_error({hosts, {4, 0}}) == "routed tokens: must have 2 ranks x 2 experts, not 2 counts");
  CHECK(tables_error({hosts, {1 << 30, 0, 1 << 30, 0}}) ==
        "expert 0: has 2147483648 tokens for 2 replicas, but at most 2147483647 tokens and 1073741823 "
        "replicas are supported; use smaller micro-batches");
  const std::vector<Tokens> counts(6, 0);
  const Status other_shape = DispatchTables().update(hosts, {3, 2, counts});
  REQUIRE_FALSE(other_shape);
  CHECK(other_shape.error().message() ==
        "routed tokens: are for 3 ranks x 2 experts, but the placement is for 2 x 2");
}

TEST_CASE("dispatch: sources that round alone overload a rank by a quarter, the exact rule by nothing") {
  // 1024 ranks x 256 experts, 8192 tokens a rank of Zipf popularity, 4 slots a rank. A source's few surplus
  // tokens go to the hosts with the largest remainders, and these are the same for every source.
  const RoutedCluster cluster = zipf_cluster({});
  DispatchTables tables;
  REQUIRE(tables.update(cluster.hosts, cluster.routed()));
  double worst = 0;
  for (std::int32_t expert = 0; expert < 256; ++expert) {
    const auto received = reference::received_when_sources_round_alone(expert_case(cluster, expert));
    for (std::size_t rank = 0; rank < received.size(); ++rank) {
      const Tokens capacity = tables.capacity()[rank * 256 + at(expert)];
      if (capacity > 0) worst = std::max(worst, static_cast<double>(received[rank]) / capacity - 1);
    }
  }
  CHECK_MESSAGE(worst == doctest::Approx(0.25).epsilon(0.05), fmt::format("{}", worst));
}

TEST_CASE("dispatch: packed schedules send to a quarter of the peers of proportional ones") {
  // The same cluster. A rank has surplus of nearly all 256 experts, about 32 tokens each. Packed, these go to
  // one host each, seldom two: about 1024 * (1 - exp(-256 / 1024)) = 227 ranks. In proportion they go to all
  // 16 hosts.
  const RoutedCluster cluster = zipf_cluster({});
  const auto peers = [&](DispatchPolicy policy) {
    const auto schedule = DispatchSchedule::make(cluster.hosts, cluster.routed(), policy);
    REQUIRE(schedule);
    double sum = 0;
    for (std::int32_t rank = 0; rank < 1024; rank += 64) {
      const RankDispatch dispatch(*schedule, rank);
      std::set<std::int32_t> to;
      for (std::size_t i = 0; i < dispatch.send_counts().size(); ++i)
        if (dispatch.send_counts()[i] > 0) to.insert(cluster.hosts.entries()[i].rank);
      to.erase(rank);
      sum += static_cast<double>(to.size());
    }
    return sum / 16;
  };
  const double packed = peers(DispatchPolicy::kPacked);
  const double proportional = peers(DispatchPolicy::kProportional);
  CHECK_MESSAGE(packed == doctest::Approx(227).epsilon(0.05), fmt::format("{}", packed));
  CHECK_MESSAGE(proportional == doctest::Approx(1018).epsilon(0.02), fmt::format("{}", proportional));
}

}  // namespace goodput::moe
