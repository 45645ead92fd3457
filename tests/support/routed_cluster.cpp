#include "tests/support/routed_cluster.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace goodput::testing {
namespace {

std::vector<std::int32_t> shuffled(std::int32_t count, RandomStream& random) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// 1 .. most
std::int32_t up_to(RandomStream& random, std::int32_t most) {
  return 1 + static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(most)));
}

// A table from which a uniform draw takes the expert: 2^16 cells, shares within 2^-16 of Zipf's.
std::vector<std::int32_t> zipf_table(const ZipfCluster& spec, RandomStream& random) {
  std::vector<double> reached;
  double total = 0;
  for (std::int32_t p = 1; p <= spec.experts; ++p) reached.push_back(total += std::pow(p, -spec.skew));
  const std::vector<std::int32_t> expert_of = shuffled(spec.experts, random);
  std::vector<std::int32_t> table;
  constexpr std::size_t kCells = std::size_t{1} << 16U;
  for (std::size_t cell = 0, p = 0; cell < kCells; ++cell) {
    while (reached[p] * kCells < total * (static_cast<double>(cell) + 0.5)) ++p;
    table.push_back(expert_of[p]);
  }
  return table;
}

std::vector<std::int32_t> balanced_slots(const ZipfCluster& spec, const std::vector<std::int64_t>& totals) {
  std::vector<std::int32_t> replicas(totals.size(), 1);
  for (std::int32_t spare = spec.ranks * spec.slots - spec.experts; spare > 0; --spare) {
    std::size_t most = 0;
    for (std::size_t e = 1; e < totals.size(); ++e)
      if (totals[e] * replicas[most] > totals[most] * replicas[e]) most = e;
    ++replicas[most];
  }
  std::vector<std::int32_t> expert_at(static_cast<std::size_t>(spec.ranks) *
                                      static_cast<std::size_t>(spec.slots));
  std::size_t i = 0;
  for (std::size_t e = 0; e < replicas.size(); ++e) {
    for (std::int32_t r = 0; r < replicas[e]; ++r, ++i) {
      const std::size_t rank = i % static_cast<std::size_t>(spec.ranks);
      const std::size_t slot = i / static_cast<std::size_t>(spec.ranks);
      expert_at[rank * static_cast<std::size_t>(spec.slots) + slot] = static_cast<std::int32_t>(e);
    }
  }
  return expert_at;
}

}  // namespace

RoutedCluster zipf_cluster(const ZipfCluster& spec) {
  RandomStream random(spec.seed, "zipf cluster");
  const std::vector<std::int32_t> table = zipf_table(spec, random);
  const auto width = static_cast<std::size_t>(spec.experts);
  std::vector<moe::Tokens> counts(static_cast<std::size_t>(spec.ranks) * width, 0);
  std::vector<std::int64_t> totals(width, 0);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(spec.ranks); ++rank) {
    for (std::int64_t t = 0; t < spec.tokens; ++t) {
      const auto expert = static_cast<std::size_t>(table[random.bits() >> 48U]);
      ++counts[rank * width + expert];
      ++totals[expert];
    }
  }
  auto hosts =
      moe::ExpertHosts::from_slots(spec.ranks, spec.experts, spec.slots, balanced_slots(spec, totals));
  return {*std::move(hosts), std::move(counts)};
}

std::vector<std::int32_t> random_replicas(RandomStream& random, std::int32_t ranks, std::int32_t experts,
                                          double hosted) {
  const auto width = static_cast<std::size_t>(experts);
  std::vector<std::int32_t> replicas(static_cast<std::size_t>(ranks) * width, 0);
  for (std::int32_t& cell : replicas)
    if (random.uniform() < hosted) cell = 1 + static_cast<std::int32_t>(random.below(3) / 2);
  for (std::size_t e = 0; e < width; ++e)
    ++replicas[random.below(static_cast<std::uint64_t>(ranks)) * width + e];
  return replicas;
}

Result<moe::ExpertHosts> hosts_of_replicas(std::int32_t ranks, std::int32_t experts,
                                           std::span<const std::int32_t> replicas) {
  const auto width = static_cast<std::size_t>(experts);
  std::size_t slots = 0;  // of the fullest rank
  for (std::size_t row = 0; row < replicas.size(); row += width) {
    const auto of_rank = replicas.subspan(row, width);
    slots = std::max(slots, std::accumulate(of_rank.begin(), of_rank.end(), std::size_t{0}));
  }
  std::vector<std::int32_t> expert_at;
  for (std::size_t cell = 0; cell < replicas.size(); ++cell) {
    const auto expert = static_cast<std::int32_t>(cell % width);
    expert_at.insert(expert_at.end(), static_cast<std::size_t>(replicas[cell]), expert);
    if (cell % width + 1 == width) expert_at.resize((cell / width + 1) * slots, moe::kEmptySlot);
  }
  return moe::ExpertHosts::from_slots(ranks, experts, static_cast<std::int32_t>(slots), expert_at);
}

RoutedCluster nasty_cluster(const NastyCluster& spec, RandomStream& random) {
  const std::int32_t ranks = up_to(random, spec.most_ranks);
  const std::int32_t experts = up_to(random, spec.most_experts);
  const auto width = static_cast<std::size_t>(experts);
  std::vector<std::int32_t> replicas =
      random_replicas(random, ranks, experts, random.below(3) == 0 ? 1 : random.uniform());
  fail_ranks(replicas, width, random.below(2) == 0 ? 0 : random.uniform(), random);
  auto hosts = hosts_of_replicas(ranks, experts, replicas);

  // Half of the clusters have 0 to 3 tokens a cell; a third have tokens everywhere.
  const std::int32_t most = random.below(2) == 0 ? up_to(random, 3) : up_to(random, spec.most_tokens);
  const double routed = random.below(3) == 0 ? 1 : random.uniform();
  std::vector<moe::Tokens> counts(replicas.size(), 0);
  for (std::size_t cell = 0; cell < counts.size(); ++cell) {
    const bool lost = hosts->replicas_of(static_cast<std::int32_t>(cell % width)) == 0;
    if (!lost && random.uniform() < routed) counts[cell] = up_to(random, most + 1) - 1;
  }
  return {*std::move(hosts), std::move(counts)};
}

void fail_ranks(std::span<std::int32_t> replicas, std::size_t experts, double share, RandomStream& random) {
  for (std::size_t first = 0; first < replicas.size(); first += experts) {
    const auto row = replicas.subspan(first, experts);
    if (random.uniform() < share) std::fill(row.begin(), row.end(), 0);
  }
}

std::vector<std::int32_t> random_slots(RandomStream& random, std::int32_t ranks, std::int32_t experts,
                                       std::int32_t tokens, std::int32_t top_k, double dropped) {
  std::vector<std::int32_t> slots;
  const auto rows = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(tokens);
  slots.reserve(rows * static_cast<std::size_t>(top_k));
  for (std::size_t row = 0; row < rows; ++row) {
    const double draw = random.uniform();
    const auto first = static_cast<std::int32_t>(draw * draw * experts);
    for (std::int32_t k = 0; k < top_k; ++k)
      slots.push_back(dropped > 0 && random.uniform() < dropped ? -1 : (first + k) % experts);
  }
  return slots;
}

}  // namespace goodput::testing
