// The exact dispatch schedule of 1024 ranks x 256 experts, 4 slots a rank, 8192 tokens a rank, Zipf loads.
//   tables/<hosts>    capacity, local and surplus of every (rank, expert); slots: 4096 hosts; dense: all
//   262144 rank/<policy>     what one rank sends and receives, from the counts of all schedule/<policy> the
//   part of it that all ranks have in common hosts             the placement, listed by rank and by expert
//   multiplier        of one expert, 64 candidates
//   pair_count        of one pair, proportional
//   read_counts       the limit: reading the counts once (1 MiB)
//   copy_tables       the limit: reading the counts and writing three tables of that size
#include <benchmark/benchmark.h>

#include <algorithm>

#include "models/dispatch/dispatch_schedule.h"
#include "models/dispatch/dispatch_tables.h"
#include "tests/support/routed_cluster.h"

namespace goodput::testing {
namespace {

constexpr std::int32_t kRank = 512;

RoutedCluster sparse() {
  return zipf_cluster({});
}

RoutedCluster dense() {
  RoutedCluster cluster = sparse();
  const std::vector<std::int32_t> ones(cluster.counts.size(), 1);
  cluster.hosts = *testing::hosts_of_replicas(cluster.hosts.ranks(), cluster.hosts.experts(), ones);
  return cluster;
}

void update_tables(benchmark::State& state, const RoutedCluster& cluster) {
  moe::DispatchTables tables;
  for (auto _ : state) {
    GOODPUT_CHECK(tables.update(cluster.hosts, cluster.routed()).has_value(), "the cluster is sound");
    benchmark::DoNotOptimize(tables.surplus().data());
    benchmark::ClobberMemory();
  }
}

void schedule_all(benchmark::State& state, moe::DispatchPolicy policy) {
  const RoutedCluster cluster = sparse();
  for (auto _ : state) {
    const auto schedule = moe::DispatchSchedule::make(cluster.hosts, cluster.routed(), policy);
    benchmark::DoNotOptimize(schedule->map_of(0).multiplier);
  }
}

void schedule_rank(benchmark::State& state, moe::DispatchPolicy policy) {
  const RoutedCluster cluster = sparse();
  for (auto _ : state) {
    const auto schedule = moe::DispatchSchedule::make(cluster.hosts, cluster.routed(), policy);
    const moe::RankDispatch dispatch(*schedule, kRank);
    benchmark::DoNotOptimize(dispatch.send_counts().data());
    benchmark::DoNotOptimize(dispatch.receive_counts().data());
  }
}

void list_hosts(benchmark::State& state) {
  const std::int32_t ranks = 1024;
  const std::int32_t slots = 4;
  std::vector<std::int32_t> expert_at;
  for (std::int32_t i = 0; i < ranks * slots; ++i) expert_at.push_back(i % 256);
  for (auto _ : state) {
    const auto hosts = moe::ExpertHosts::from_slots(ranks, 256, slots, expert_at);
    benchmark::DoNotOptimize(hosts->entries().data());
  }
}

void find_multiplier(benchmark::State& state) {
  moe::Tokens size = 30'000;  // typical of the cluster above
  for (auto _ : state) benchmark::DoNotOptimize(moe::best_multiplier(++size));
}

void count_pair(benchmark::State& state) {
  const moe::SurplusMap map = moe::surplus_map(moe::DispatchPolicy::kProportional, 30'011);
  moe::Tokens first = 0;
  for (auto _ : state) {
    first = first < 29'000 ? first + 32 : 0;
    benchmark::DoNotOptimize(moe::pair_count(map, {first, 32}, {15'000, 2000}));
  }
}

void read_counts(benchmark::State& state) {
  const RoutedCluster cluster = sparse();
  for (auto _ : state) {
    moe::Tokens bits = 0;
    for (const moe::Tokens count : cluster.counts) bits |= count;
    benchmark::DoNotOptimize(bits);
  }
}

void copy_tables(benchmark::State& state) {
  const RoutedCluster cluster = sparse();
  std::vector<moe::Tokens> tables[3];
  for (auto _ : state) {
    for (auto& table : tables) table.assign(cluster.counts.begin(), cluster.counts.end());
    benchmark::ClobberMemory();
  }
}

BENCHMARK_CAPTURE(update_tables, slots, sparse())->Name("tables/slots")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(update_tables, dense, dense())->Name("tables/dense")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(schedule_rank, packed, moe::DispatchPolicy::kPacked)
    ->Name("rank/packed")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(schedule_rank, proportional, moe::DispatchPolicy::kProportional)
    ->Name("rank/proportional")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(schedule_all, packed, moe::DispatchPolicy::kPacked)
    ->Name("schedule/packed")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(schedule_all, proportional, moe::DispatchPolicy::kProportional)
    ->Name("schedule/proportional")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(list_hosts)->Name("hosts")->Unit(benchmark::kMicrosecond);
BENCHMARK(find_multiplier)->Name("multiplier");
BENCHMARK(count_pair)->Name("pair_count");
BENCHMARK(read_counts)->Name("read_counts")->Unit(benchmark::kMicrosecond);
BENCHMARK(copy_tables)->Name("copy_tables")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace goodput::testing

BENCHMARK_MAIN();
