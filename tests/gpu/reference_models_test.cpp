// The reference and the CPU library are two writings of the same dispatch.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "gpu/reference.h"
#include "models/dispatch/dispatch_schedule.h"
#include "tests/gpu/reference_cases.h"
#include "tests/support/routed_cluster.h"

namespace goodput::gpu::reference {
namespace {

using goodput::testing::at;
using goodput::testing::RoutedCluster;
using moe::DispatchPolicy;

Placement placement_of(const moe::ExpertHosts& hosts) {
  Placement placement = {hosts.ranks(), hosts.experts(), {}};
  placement.replicas.assign(placement.cell(hosts.ranks(), 0), 0);
  for (const moe::HostedExpert& entry : hosts.entries())
    placement.replicas[placement.cell(entry.rank, entry.expert)] = entry.replicas;
  return placement;
}

// As many slots of every expert as counted, a few dropped ones, shuffled.
std::vector<std::int32_t> slots_of(std::span<const moe::Tokens> counts, RandomStream& random) {
  std::vector<std::int32_t> slots(random.below(4), -1);
  for (std::size_t expert = 0; expert < counts.size(); ++expert)
    slots.insert(slots.end(), at(counts[expert]), static_cast<std::int32_t>(expert));
  for (std::size_t i = slots.size(); i > 1; --i) std::swap(slots[i - 1], slots[random.below(i)]);
  return slots;
}

std::string difference(const RoutedCluster& cluster, const moe::DispatchSchedule& theirs,
                       const Placement& placement, const Schedule& ours, std::int32_t me,
                       RandomStream& random) {
  const moe::RankDispatch rank(theirs, me);
  const RankLayout layout = make_layout(placement, ours, me);
  if (!std::ranges::equal(rank.send_counts(), layout.send_counts)) return "send counts";
  if (!std::ranges::equal(rank.receive_counts(), layout.receive_counts)) return "receive counts";
  if (!std::ranges::equal(rank.send_offsets(), layout.send_offsets)) return "send offsets";
  const auto same_place = [](const moe::HostedExpert& a, const Entry& b) {
    return a.rank == b.rank && a.expert == b.expert;
  };
  if (!std::ranges::equal(cluster.hosts.entries(), layout.entries, same_place)) return "entries";
  if (!std::ranges::equal(cluster.hosts.of_rank(me), layout.experts_here, {}, &moe::HostedExpert::expert))
    return "experts of the rank";
  for (std::int32_t expert = 0; expert < placement.experts; ++expert) {
    const std::size_t cell = placement.cell(me, expert);
    if (rank.local(expert) != ours.local[cell]) return "local tokens";
    if (rank.surplus(expert).count != ours.surplus[cell].count) return "surplus";
    if (rank.surplus(expert).first != ours.surplus[cell].first) return "numbers of the surplus";
  }
  const std::vector<std::int32_t> slots = slots_of(cluster.routed().of_rank(me), random);
  return std::ranges::equal(rank.positions(slots), positions(placement, ours, layout, me, slots))
             ? ""
             : "positions";
}

std::string difference(const RoutedCluster& cluster, DispatchPolicy policy, RandomStream& random) {
  const auto theirs = moe::DispatchSchedule::make(cluster.hosts, cluster.routed(), policy);
  if (!theirs) return theirs.error().message();
  const Placement placement = placement_of(cluster.hosts);
  const Schedule ours = make_schedule(placement, cluster.counts, policy);
  for (std::int32_t expert = 0; expert < placement.experts; ++expert)
    if (theirs->map_of(expert).size != ours.maps[at(expert)].size ||
        theirs->map_of(expert).multiplier != ours.maps[at(expert)].multiplier)
      return "maps";
  for (std::int32_t me = 0; me < placement.ranks; ++me) {
    const std::string one = difference(cluster, *theirs, placement, ours, me, random);
    if (!one.empty()) return fmt::format("rank {}: {}", me, one);
  }
  return {};
}

void check_random(const goodput::testing::NastyCluster& spec, std::uint64_t seeds) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    RandomStream random(seed, "reference and models");
    const RoutedCluster cluster = nasty_cluster(spec, random);
    for (const DispatchPolicy policy : {DispatchPolicy::kProportional, DispatchPolicy::kPacked}) {
      const std::string wrong = difference(cluster, policy, random);
      REQUIRE_MESSAGE(wrong.empty(), fmt::format("seed {}: they differ in {}", seed, wrong));
    }
  }
}

}  // namespace

TEST_CASE("gpu reference: random clusters are dispatched as the CPU library does") {
  check_random({}, 2000);
}

TEST_CASE("gpu reference: larger random clusters are dispatched as the CPU library does") {
  check_random({64, 12, 300}, 4);
}

TEST_CASE("gpu reference: many large random clusters are dispatched as the CPU library does" *
          doctest::test_suite("release-only")) {
  check_random({}, 30'000);
  check_random({64, 12, 3000}, 40);
}

}  // namespace goodput::gpu::reference
