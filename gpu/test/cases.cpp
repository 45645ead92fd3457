#include "gpu/test/cases.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace goodput::gpu::testing {
namespace {

constexpr std::array<std::int32_t, 7> kRanks = {1, 2, 7, 8, 64, 1000, 1024};
constexpr std::array<std::int32_t, 4> kExperts = {1, 8, 96, 512};
constexpr std::array<std::int32_t, 7> kTokens = {0, 1, 31, 32, 33, 2047, 65536};
constexpr std::array<std::int32_t, 3> kTopK = {1, 2, 8};
constexpr std::array<ElementType, 3> kElements = {ElementType::kBf16, ElementType::kFp16, ElementType::kFp32};
constexpr std::array<std::int32_t, 5> kHidden = {8, 7, 40, 1, 24};  // 7 and 1 take the slow way

constexpr std::int32_t kMostTokensOfManyRanks = 2047;

template <std::size_t kSize>
constexpr auto turn(const std::array<std::int32_t, kSize>& values, std::size_t i) {
  return values[i % kSize];
}

std::int32_t skewed(std::int32_t below, Random& random) {
  const double draw = random.uniform();
  return static_cast<std::int32_t>(draw * draw * below);
}

reference::Placement make_placement(const DispatchCase& dispatch, Random& random) {
  const std::int32_t ranks = dispatch.shape.ranks;
  const std::int32_t experts = dispatch.shape.experts;
  reference::Placement placement{ranks, experts, {}};
  placement.replicas.assign(placement.cell(ranks, 0), dispatch.hosting == Hosting::kEverywhere ? 1 : 0);
  const std::int32_t slots = std::max(4, (experts + ranks - 1) / ranks);
  for (std::int32_t slot = 0; slot < slots * ranks; ++slot) {
    const std::int32_t expert = slot < experts ? slot : skewed(experts, random);
    ++placement.replicas[placement.cell(slot % ranks, expert)];
  }
  if (dispatch.failures == Failures::kSome) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      if (random.below(3) != 0) continue;
      for (std::int32_t e = 0; e < experts; ++e) placement.replicas[placement.cell(rank, e)] = 0;
    }
  }
  return placement;
}

std::vector<std::int32_t> route(const DispatchCase& dispatch, std::int32_t popular, Random& random) {
  const std::int32_t most = dispatch.shape.max_tokens;
  const bool fewer = dispatch.routing == Routing::kSkewed && random.below(4) == 0;
  const std::int32_t tokens = fewer ? random.below(most + 1) : most;
  std::vector<std::int32_t> expert_of(static_cast<std::size_t>(tokens) *
                                      static_cast<std::size_t>(dispatch.shape.top_k));
  for (std::int32_t& expert : expert_of) {
    switch (dispatch.routing) {
      case Routing::kSkewed:
        expert = random.below(20) == 0 ? -1 : skewed(dispatch.shape.experts, random);
        break;
      case Routing::kOneExpert:
        expert = popular;
        break;
      case Routing::kAllDropped:
        expert = -1;
        break;
    }
  }
  return expert_of;
}

// The i-th pair of ranks and tokens; the sum of their places turns the other two lists, which have periods
// without a common divisor.
DispatchCase grid_case(std::size_t rank_place, std::size_t token_place) {
  const std::size_t turned = rank_place + token_place;
  const std::size_t number = rank_place * kTokens.size() + token_place;
  DispatchCase dispatch;
  dispatch.shape.ranks = kRanks[rank_place];
  dispatch.shape.max_tokens = kTokens[token_place];
  dispatch.shape.experts = turn(kExperts, turned);
  dispatch.shape.top_k = turn(kTopK, turned + 2);
  dispatch.shape.hidden = turn(kHidden, number);
  dispatch.shape.element = kElements[number / 2 % kElements.size()];
  dispatch.shape.policy = number % 2 == 0 ? moe::DispatchPolicy::kProportional : moe::DispatchPolicy::kPacked;
  dispatch.routing = number % 11 == 3   ? Routing::kOneExpert
                     : number % 11 == 7 ? Routing::kAllDropped
                                        : Routing::kSkewed;
  dispatch.failures = number % 5 == 4 ? Failures::kSome : Failures::kNone;
  dispatch.seed = number;
  return dispatch;
}

}  // namespace

std::string name_of(const DispatchCase& dispatch) {
  const DispatchShape& shape = dispatch.shape;
  std::string name = "ranks=" + std::to_string(shape.ranks) + " experts=" + std::to_string(shape.experts) +
                     " tokens=" + std::to_string(shape.max_tokens) + " top_k=" + std::to_string(shape.top_k) +
                     " hidden=" + std::to_string(shape.hidden) + " " + gpu::name_of(shape.element) +
                     (shape.policy == moe::DispatchPolicy::kPacked ? " packed" : " proportional");
  if (dispatch.routing == Routing::kOneExpert) name += " one-expert";
  if (dispatch.routing == Routing::kAllDropped) name += " all-dropped";
  if (dispatch.failures == Failures::kSome) name += " failures";
  if (dispatch.hosting == Hosting::kEverywhere) name += " everywhere";
  if (dispatch.path != CopyPath::kAuto) name += std::string(" ") + gpu::name_of(dispatch.path);
  return name + " seed=" + std::to_string(dispatch.seed);
}

std::vector<DispatchCase> grid(Size size) {
  std::vector<DispatchCase> cases;
  for (std::size_t i = 0; i < kRanks.size(); ++i) {
    for (std::size_t j = 0; j < kTokens.size(); ++j) {
      if (kRanks[i] >= 1000 && kTokens[j] > kMostTokensOfManyRanks) continue;
      DispatchCase dispatch = grid_case(i, j);
      if (size == Size::kSmall) dispatch.shape.max_tokens = std::min(dispatch.shape.max_tokens, 333);
      cases.push_back(dispatch);
    }
  }
  return cases;
}

Cluster make_cluster(const DispatchCase& dispatch) {
  Random random(dispatch.seed);
  Cluster cluster{make_placement(dispatch, random), {}, {}};
  const std::int32_t popular = random.below(dispatch.shape.experts);
  for (std::int32_t rank = 0; rank < dispatch.shape.ranks; ++rank) {
    cluster.expert_of.push_back(route(dispatch, popular, random));
  }
  cluster.counts = reference::count_cluster(cluster.expert_of, dispatch.shape.experts);
  return cluster;
}

}  // namespace goodput::gpu::testing
