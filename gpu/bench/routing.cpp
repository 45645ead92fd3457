#include "gpu/bench/routing.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>

namespace goodput::gpu::bench {
namespace {

// The engine is the standard's, so its numbers are the same everywhere; the distributions are not.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}

  // 0 .. bound - 1; the bias of 64 bits modulo a small number is of no matter here.
  std::int32_t below(std::int64_t bound) {
    return static_cast<std::int32_t>(engine_() % static_cast<std::uint64_t>(bound));
  }

 private:
  std::mt19937_64 engine_;
};

std::size_t cell(const ClusterSize& size, std::int64_t rank, std::int64_t expert) {
  return static_cast<std::size_t>(rank * size.experts + expert);
}

}  // namespace

std::vector<std::int32_t> draw_replicas(const ClusterSize& size, std::uint64_t seed) {
  Draws draws(seed);
  std::vector<std::int32_t> expert_of_slot;
  for (std::int32_t slot = 0; slot < size.ranks * size.slots_per_rank; ++slot) {
    expert_of_slot.push_back(slot < size.experts ? slot : draws.below(size.experts));
  }
  for (std::size_t slot = expert_of_slot.size(); slot > 1; --slot) {
    std::swap(expert_of_slot[slot - 1],
              expert_of_slot[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(slot)))]);
  }
  std::vector<std::int32_t> replicas(cell(size, size.ranks, 0), 0);
  for (std::size_t slot = 0; slot < expert_of_slot.size(); ++slot) {
    const std::int64_t rank = static_cast<std::int64_t>(slot) / size.slots_per_rank;
    ++replicas[cell(size, rank, expert_of_slot[slot])];
  }
  return replicas;
}

std::vector<std::int32_t> draw_routing(std::int64_t tokens, std::int32_t top_k, std::int32_t experts,
                                       std::uint64_t seed) {
  Draws draws(seed);
  std::vector<std::int32_t> expert_of;
  expert_of.reserve(static_cast<std::size_t>(tokens * top_k));
  // The first top_k of a shuffle that is carried on from token to token.
  std::vector<std::int32_t> order(static_cast<std::size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int32_t j = 0; j < top_k; ++j) {
      std::swap(order[static_cast<std::size_t>(j)],
                order[static_cast<std::size_t>(j + draws.below(experts - j))]);
      expert_of.push_back(order[static_cast<std::size_t>(j)]);
    }
  }
  return expert_of;
}

std::vector<moe::Tokens> draw_counts(const ClusterSize& size, std::int32_t me,
                                     const std::vector<moe::Tokens>& own, std::uint64_t seed) {
  Draws draws(seed);
  const std::int64_t mean = std::accumulate(own.begin(), own.end(), std::int64_t{0}) / size.experts;
  std::vector<moe::Tokens> counts(cell(size, size.ranks, 0));
  for (moe::Tokens& count : counts) count = static_cast<moe::Tokens>(mean / 2) + draws.below(mean + 1);
  std::copy(own.begin(), own.end(), counts.begin() + static_cast<std::ptrdiff_t>(cell(size, me, 0)));
  return counts;
}

std::vector<std::int64_t> spread_sample(std::int64_t total, std::int64_t most) {
  const std::int64_t size = std::min(total, most);
  std::vector<std::int64_t> sample;
  for (std::int64_t i = 0; i < size; ++i) {
    sample.push_back(size == total ? i : i * (total - 1) / (size - 1));
  }
  return sample;
}

}  // namespace goodput::gpu::bench
