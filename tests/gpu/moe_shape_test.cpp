#include "gpu/calibrate/moe_shape.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "gpu/calibrate/gemm_families.h"

namespace goodput::gpu::calibrate {
namespace {

using Rows = std::vector<std::int64_t>;

std::int64_t sum(const Rows& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

MoeShape ratio_shape(int ratio, MoeDispatch dispatch) {
  MoeShape shape{"", 8192, 1024, 4096, false, 1, 8, 8, "ratio", ratio_loads(ratio), ratio, dispatch};
  if (dispatch == MoeDispatch::kPadded) shape.slots = 1;
  return shape;
}

TEST_CASE("moe shape: one of eight experts gets k eighths of the tokens, the others share the rest") {
  // 8192 tokens: 1024 each; 3072 and 5120 / 7 = 731.4 each; all.
  CHECK(ratio_shape(1, MoeDispatch::kFlexible).slots_of_experts() == Rows(8, 1024));
  const Rows three = ratio_shape(3, MoeDispatch::kFlexible).slots_of_experts();
  CHECK(three[0] == 3072);
  for (std::size_t e = 1; e < 8; ++e) CHECK((three[e] == 731 || three[e] == 732));
  CHECK(sum(three) == 8192);
  CHECK(ratio_shape(8, MoeDispatch::kFlexible).slots_of_experts() == Rows{8192, 0, 0, 0, 0, 0, 0, 0});
}

// Padded, every one of 8 ranks sends as many rows as the fullest expert gets, k / 8 of T: k T rows in all.
TEST_CASE(
    "moe shape: padding makes a rank compute k times its tokens, replicas in proportion about as many") {
  for (int ratio = 1; ratio <= 8; ++ratio) {
    CAPTURE(ratio);
    CHECK(ratio_shape(ratio, MoeDispatch::kPadded).busiest_rows() == Rows{ratio * 8192});
    const std::int64_t rows = sum(ratio_shape(ratio, MoeDispatch::kFlexible).busiest_rows());
    CHECK(rows >= 8192);
    CHECK(rows <= 1.15 * 8192);
  }
}

TEST_CASE("moe shape: an only rank computes all slots, a rank with one expert what all send to that") {
  const std::vector<int> loads(kSmartmoeLoads8, kSmartmoeLoads8 + 8);
  const MoeShape alone{"", 4096, 4096, 14336, true, 2, 1, 8, "smartmoe-like", loads};
  CHECK(alone.busiest_rows() == alone.slots_of_experts());
  CHECK(sum(alone.busiest_rows()) == 2 * 4096);
  MoeShape eight = alone;
  eight.ranks = 8;
  eight.slots = 1;
  // 8192 x 0.3916 = 3208 of every rank for the most loaded expert, which is the last.
  CHECK(eight.busiest_rows() == Rows{8 * 3208});
  // The first 4 of 256 experts: (256 + 255 + 254 + 253) / 32896 of 64 x 32768 slots are 64,898, rounded for
  // each of them.
  const MoeShape many{"", 4096, 7168, 2048, true, 8, 64, 4, "linear", linear_loads(256)};
  const Rows rows = many.busiest_rows();
  CHECK(rows.size() == 4);
  CHECK(std::abs(sum(rows) - 64'898) <= 4 * 64);
}

TEST_CASE("moe shape: replicas follow loads, with one each at least, in order where there are no more") {
  const auto of_expert = [](const std::vector<std::int32_t>& placed, std::size_t experts,
                            std::size_t expert) {
    std::int64_t all = 0;
    for (std::size_t at = expert; at < placed.size(); at += experts) all += placed[at];
    return all;
  };
  // 4 ranks of 2 slots, loads 5 : 1 : 0 of 3 experts. After one each: to the first until 5 / 6 < 1 / 1.
  const std::vector<std::int32_t> placed = replicas_by_load({500, 100, 0}, 4, 2);
  CHECK(of_expert(placed, 3, 0) == 6);
  CHECK(of_expert(placed, 3, 1) == 1);
  CHECK(of_expert(placed, 3, 2) == 1);
  for (std::size_t rank = 0; rank < 4; ++rank)
    CHECK(placed[3 * rank] + placed[3 * rank + 1] + placed[3 * rank + 2] == 2);
  // In order: experts 0 and 1 on rank 0.
  CHECK(replicas_by_load({1, 9, 1, 1}, 2, 2) == std::vector<std::int32_t>{1, 1, 0, 0, 0, 0, 1, 1});
}

TEST_CASE("moe shape: a routing has the counts it was asked for, and no token chooses an expert twice") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 draw(seed);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto tokens = static_cast<std::int64_t>(1 + draw() % 40);
    const auto top_k = static_cast<std::int64_t>(1 + draw() % 3);
    Rows slots(6);
    for (std::int64_t left = tokens * top_k; left > 0;) {
      std::int64_t& some = slots[draw() % slots.size()];
      if (some == tokens) continue;
      ++some;
      --left;
    }
    const std::vector<std::int32_t> routing = routing_of(slots, tokens, top_k, draw());
    Rows counted(6);
    for (std::int64_t token = 0; token < tokens; ++token) {
      std::set<std::int32_t> chosen;
      for (std::int64_t j = 0; j < top_k; ++j) {
        const std::int32_t expert = routing[static_cast<std::size_t>(token * top_k + j)];
        CHECK(chosen.insert(expert).second);
        ++counted[static_cast<std::size_t>(expert)];
      }
    }
    CHECK(counted == slots);
  }
}

TEST_CASE("moe shape: the dispatcher counts the rows of experts that the shape says") {
  const Stream stream;
  for (int ratio : {1, 3, 8}) {
    CAPTURE(ratio);
    MoeShape shape = ratio_shape(ratio, MoeDispatch::kFlexible);
    shape.tokens = 40;
    shape.hidden = 8;
    bench::RoutedRank rank(routed_input(shape), {shape.tokens, shape.hidden, shape.top_k},
                           moe::DispatchPolicy::kProportional, CopyPath::kVector, stream);
    const HostCounts counts = rank.dispatcher().host_counts();
    CHECK(counts.ok());
    CHECK(Rows(counts.expert_rows.begin(), counts.expert_rows.end()) == shape.busiest_rows());
  }
}

}  // namespace
}  // namespace goodput::gpu::calibrate
