// The exact schedule of a mixture-of-experts dispatch: how many of whose tokens every replica computes.
//
// The dispatcher of Lazarus (arXiv 2407.04656, Algorithm 1), made exact: what a rank sends adds up to what it
// has, what a replica receives to its capacity, and every rank computes the same schedule from the same
// counts. Integers only. The CPU library, the simulator and the CUDA kernels share this header, so it is
// C++17, needs nothing but <cstdint>, and every function can be called from a kernel.
//
// Of one expert with N tokens and M replicas, both counted over the ranks in order:
//   - a replica takes floor(N/M) or ceil(N/M) tokens (TokenQuota); a rank's capacity is the sum over its own;
//   - the first min(tokens, capacity) of a rank's own tokens stay; what is left over is either its *surplus*
//     of tokens or its *residual* capacity, never both, and both add up to the same S over all ranks;
//   - surplus tokens and residual places are numbered 0 .. S-1 over the ranks, and a bijection between these
//     numbers (SurplusMap) says where every token goes. How many go from one rank to another is how many
//     numbers of an interval it maps into another: O(log S) without looking at any other rank.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define GOODPUT_HOST_DEVICE __host__ __device__
#else
#define GOODPUT_HOST_DEVICE
#endif

namespace goodput::moe {

// A number of tokens, or the number of a token.
using Tokens = std::int32_t;

// Limits of one expert over all ranks: products of two token numbers stay below 2^62, sums of two replica
// numbers below 2^31.
inline constexpr std::int64_t kMostTokens = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kMostReplicas = (std::int64_t{1} << 30) - 1;

inline constexpr std::uint32_t kInversePhi = 2654435769U;  // 2^32 / phi, phi the golden ratio

enum class DispatchStatus : std::uint8_t {
  kOk,
  kExpertLost,     // tokens are routed to an expert that no rank hosts
  kTooManyTokens,  // beyond kMostTokens or kMostReplicas: numbers could overflow
};

enum class DispatchPolicy : std::uint8_t {
  kProportional,  // every rank spreads its surplus in proportion to the hosts' residuals, as in the paper
  kPacked,        // fills host after host: an expert takes at most sources + hosts - 1 messages
};

// The numbers first .. first + count - 1.
struct alignas(8) Interval {  // one load of a kernel
  Tokens first;
  Tokens count;
};

GOODPUT_HOST_DEVICE constexpr Tokens smaller(Tokens a, Tokens b) {
  return a < b ? a : b;
}
GOODPUT_HOST_DEVICE constexpr Tokens larger(Tokens a, Tokens b) {
  return a < b ? b : a;
}

// To be asked of every expert before anything else here: the other functions REQUIRE kOk (and no negative
// numbers).
GOODPUT_HOST_DEVICE constexpr DispatchStatus expert_status(std::int64_t tokens, std::int64_t replicas) {
  if (tokens > kMostTokens || replicas > kMostReplicas) return DispatchStatus::kTooManyTokens;
  return tokens > 0 && replicas == 0 ? DispatchStatus::kExpertLost : DispatchStatus::kOk;
}

// What the replicas of an expert take: each `each`, and `one_more` of them one token more, from replica
// `rotation` on and around.
struct TokenQuota {
  Tokens each;
  Tokens one_more;
  Tokens rotation;
  std::int32_t replicas;
};

// The rotation is frac(expert / phi) * replicas: it turns from expert to expert, evenly for every number of
// replicas, so that the odd tokens of all experts do not pile up on the lowest ranks.
GOODPUT_HOST_DEVICE constexpr TokenQuota token_quota(std::int32_t expert, Tokens tokens,
                                                     std::int32_t replicas) {
  if (replicas == 0) return {0, 0, 0, 0};
  const std::uint32_t turn = static_cast<std::uint32_t>(expert) * kInversePhi;
  const std::uint64_t rotation = (std::uint64_t{turn} * static_cast<std::uint32_t>(replicas)) >> 32U;
  return {tokens / replicas, tokens % replicas, static_cast<Tokens>(rotation), replicas};
}

// What replicas [before, before + count) take, where `before` is how many of them lower ranks host.
GOODPUT_HOST_DEVICE constexpr Tokens capacity(const TokenQuota& quota, std::int32_t before,
                                              std::int32_t count) {
  // Replicas numbered from `rotation` on: the first `one_more` take one more, numbers wrap at `replicas`.
  const std::int32_t shifted = before - quota.rotation;
  const std::int32_t begin = shifted < 0 ? shifted + quota.replicas : shifted;
  const std::int32_t end = begin + count;
  const Tokens straight = smaller(end, quota.one_more) - smaller(begin, quota.one_more);
  const Tokens wrapped = smaller(larger(end - quota.replicas, 0), quota.one_more);
  return count * quota.each + straight + wrapped;
}

// How a rank's tokens for an expert meet its capacity for it.
struct TokenSplit {
  Tokens local;
  Tokens surplus;
  Tokens residual;
};

GOODPUT_HOST_DEVICE constexpr TokenSplit split_tokens(Tokens routed, Tokens capacity) {
  const Tokens local = smaller(routed, capacity);
  return {local, routed - local, capacity - local};
}

// Largest quotient of the continued fraction of g/size: the smaller, the more evenly multiples of g spread
// modulo size. `limit` as soon as it is known to be no smaller, and where g and size have a common divisor.
GOODPUT_HOST_DEVICE constexpr Tokens largest_quotient(Tokens g, Tokens size, Tokens limit) {
  Tokens largest = 0;
  while (g != 0) {
    const Tokens quotient = size / g;
    if (quotient >= limit) return limit;
    largest = larger(largest, quotient);
    const Tokens remainder = size % g;
    size = g;
    g = remainder;
  }
  return size == 1 ? largest : limit;
}

// Candidate 0 is the integer below size/phi, the others take turns above and below it. One of them at least
// has no common divisor with `size`: a number below 2^31 has at most 9 different primes, and then any 40
// integers in a row hold one (Jacobsthal's function).
inline constexpr int kMultiplierCandidates = 64;
GOODPUT_HOST_DEVICE constexpr Tokens multiplier_candidate(Tokens size, int index) {
  const auto nearest =
      static_cast<Tokens>((std::uint64_t{kInversePhi} * static_cast<std::uint32_t>(size)) >> 32U);
  return index % 2 == 1 ? nearest + (index + 1) / 2 : nearest - index / 2;
}

// The candidate whose largest quotient is smallest, of several the first. The integer nearest to size/phi
// alone may be far worse: of some sizes its deviation from the exact proportion is 200 tokens.
GOODPUT_HOST_DEVICE constexpr Tokens best_multiplier(Tokens size) {
  Tokens best = 1;
  Tokens least = size;  // the largest quotient of 1/size
  for (int i = 0; i < kMultiplierCandidates; ++i) {
    const Tokens candidate = multiplier_candidate(size, i);
    if (candidate < 1 || candidate >= size) continue;
    const Tokens quotient = largest_quotient(candidate, size, least);
    if (quotient < least) {
      least = quotient;
      best = candidate;
    }
  }
  return best;
}

// Where surplus token t goes: residual place multiplier * t mod size. Packed schedules have the multiplier 1.
struct SurplusMap {
  Tokens size;  // S
  Tokens multiplier;
};

GOODPUT_HOST_DEVICE constexpr SurplusMap surplus_map(DispatchPolicy policy, Tokens size) {
  return {size, policy == DispatchPolicy::kPacked ? 1 : best_multiplier(size)};
}

// REQUIRES: 0 <= token < map.size.
GOODPUT_HOST_DEVICE constexpr Tokens residual_place(const SurplusMap& map, Tokens token) {
  return static_cast<Tokens>(std::int64_t{map.multiplier} * token % map.size);
}

// How many numbers two intervals have in common.
GOODPUT_HOST_DEVICE constexpr Tokens overlap(Interval a, Interval b) {
  const Tokens begin = larger(a.first, b.first);
  const Tokens end = smaller(a.first + a.count, b.first + b.count);
  return larger(end - begin, 0);
}

// sum over 0 <= i < n of floor((a*i + b) / m), modulo 2^64, on the way: Euclid's algorithm on the lattice
// points under a line.
struct FloorSum {
  std::uint64_t n;
  std::uint64_t b;
  std::uint64_t sum = 0;
  bool done = false;

  // REQUIRES: a < m. `quotient` is what a division of the slope by m took off it.
  GOODPUT_HOST_DEVICE constexpr void step(std::uint64_t quotient, std::uint64_t a, std::uint64_t m) {
    sum += n * (n - 1) / 2 * quotient + n * (b / m);
    const std::uint64_t top = a * n + b % m;
    done = top < m;
    n = top / m;
    b = top % m;
  }
};

// The sum for b_high less that for b_low. Both share the slopes a/m of Euclid's algorithm, and their steps do
// not wait for each other. REQUIRES: m > 0; n, a, m < 2^31; b < 2^32.
GOODPUT_HOST_DEVICE constexpr std::uint64_t floor_sum_difference(std::uint64_t n, std::uint64_t m,
                                                                 std::uint64_t a, std::uint64_t b_high,
                                                                 std::uint64_t b_low) {
  FloorSum high{n, b_high};
  FloorSum low{n, b_low};
  for (;;) {
    const std::uint64_t quotient = a / m;
    a %= m;
    if (!high.done) high.step(quotient, a, m);
    if (!low.done) low.step(quotient, a, m);
    if (high.done && low.done) return high.sum - low.sum;
    const std::uint64_t slope = a;
    a = m;
    m = slope;
  }
}

// How many tokens of `surplus` go to places in `residual`. The two ends of a message agree because both ask
// this. REQUIRES: both intervals lie within [0, map.size).
GOODPUT_HOST_DEVICE constexpr Tokens pair_count(const SurplusMap& map, Interval surplus, Interval residual) {
  if (surplus.count == 0 || residual.count == 0) return 0;
  if (map.multiplier == 1) return overlap(surplus, residual);
  // place - first >= 0 minus place - end >= 0, each as a floor; `size` more keeps the numerators positive.
  const auto n = static_cast<std::uint64_t>(surplus.count);
  const auto size = static_cast<std::uint64_t>(map.size);
  const auto multiplier = static_cast<std::uint64_t>(map.multiplier);
  const std::uint64_t from_first = size + static_cast<std::uint64_t>(residual_place(map, surplus.first)) -
                                   static_cast<std::uint64_t>(residual.first);
  const std::uint64_t from_end = from_first - static_cast<std::uint64_t>(residual.count);
  return static_cast<Tokens>(floor_sum_difference(n, size, multiplier, from_first, from_end));
}

// Which of an expert's hosts has `place` in its residual interval. There a token comes behind those that its
// rank's earlier surplus sends to the host: pair_count() of them. REQUIRES: the intervals are those of all
// its hosts, in the order of ranks; 0 <= place < S.
GOODPUT_HOST_DEVICE constexpr std::int32_t host_of_place(const Interval* residuals, std::int32_t hosts,
                                                         Tokens place) {
  std::int32_t low = 0;
  while (hosts > 1) {
    const std::int32_t half = hosts / 2;
    if (residuals[low + half].first <= place) low += half;
    hosts -= half;
  }
  return low;
}

}  // namespace goodput::moe
