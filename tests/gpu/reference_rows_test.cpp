#include "gpu/reference_rows.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/base/random.h"

namespace goodput::gpu::reference {
namespace {

constexpr float kBig = 134217728.0F;  // 2^27: + 1 is still 2^27 in fp32

template <class T>
std::vector<T> elements(const std::vector<float>& values) {
  std::vector<T> result;
  for (const float value : values) result.push_back(from_float<T>(value));
  return result;
}

template <class T>
std::vector<float> floats(const std::vector<T>& values) {
  std::vector<float> result;
  for (const T value : values) result.push_back(to_float(value));
  return result;
}

// Integers from -4 to 4: sums of a few are exact in every type.
template <class T>
std::vector<T> small_integers(RandomStream& random, std::size_t count) {
  std::vector<T> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(from_float<T>(static_cast<float>(random.below(9)) - 4.0F));
  return result;
}

template <class T>
double inner(const std::vector<T>& a, const std::vector<T>& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{to_float(a[i])} * double{to_float(b[i])};
  return sum;
}

struct RandomRows {
  int tokens;
  int top_k;
  int hidden;
  std::size_t rows = 0;
  std::vector<std::int32_t> positions;
};

// A fifth of the slots is dropped, the others have rows in random order.
RandomRows random_rows(RandomStream& random) {
  const auto up_to = [&random](std::uint64_t most) { return 1 + static_cast<int>(random.below(most)); };
  RandomRows result = {up_to(12), up_to(8), up_to(20), 0, {}};
  for (int slot = 0; slot < result.tokens * result.top_k; ++slot)
    result.positions.push_back(random.below(5) == 0 ? -1 : static_cast<std::int32_t>(result.rows++));
  for (std::size_t i = result.positions.size(); i > 1; --i)
    std::swap(result.positions[i - 1], result.positions[random.below(i)]);
  return result;
}

// The butterfly written as the tree it is: what a lane has after `offset` is its own from before plus that of
// the lane across.
float lane_sum(const std::array<float, kLanes>& sums, std::size_t lane, std::size_t offset) {
  if (offset == kLanes) return sums[lane];
  return lane_sum(sums, lane, 2 * offset) + lane_sum(sums, lane ^ offset, 2 * offset);
}

template <class T>
float dot_by_lanes(const std::vector<T>& a, const std::vector<T>& b) {
  const std::size_t width = 16 / sizeof(T);
  std::array<float, kLanes> sums{};
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    for (std::size_t chunk = lane * width; chunk < a.size(); chunk += kLanes * width)
      for (std::size_t i = chunk; i < std::min(chunk + width, a.size()); ++i)
        sums[lane] = std::fma(to_float(a[i]), to_float(b[i]), sums[lane]);
  return lane_sum(sums, 0, 1);
}

// Dot product with ones of a vector that is 0 but for these elements.
template <class T>
float sum_of(int hidden, const std::vector<std::pair<std::size_t, float>>& nonzero) {
  std::vector<T> a(static_cast<std::size_t>(hidden), from_float<T>(0.0F));
  for (const auto& [i, value] : nonzero) a[i] = from_float<T>(value);
  const std::vector<T> ones(a.size(), from_float<T>(1.0F));
  return warp_dot(a.data(), ones.data(), hidden);
}

}  // namespace

TEST_CASE_TEMPLATE("gpu reference: rows are scattered, and others left alone", T, Bf16, Fp16, float) {
  // Two tokens, top-2, rows of 3. Token 0 goes to rows 2 and 0, token 1 to row 3 and its other slot nowhere.
  std::vector<T> send = elements<T>(std::vector<float>(12, -9.0F));
  scatter(elements<T>({1, 2, 3, 4, 5, 6}), {2, 0, -1, 3}, 2, 3, send);
  CHECK(floats(send) == std::vector<float>{1, 2, 3, -9, -9, -9, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("gpu reference: scatter and regroup move bits, whatever they mean") {
  // A NaN with a payload, an infinity, minus zero, a subnormal number.
  const std::vector<Bf16> x = {{0x7fa5}, {0xff80}, {0x8000}, {0x0001}};
  std::vector<Bf16> send(4);
  scatter(x, {1, 0}, 1, 2, send);
  const std::vector<Bf16> back = ungroup(regroup(send, {1, 0}, 2), {1, 0}, 2);
  const std::vector<std::uint16_t> expected = {0x8000, 0x0001, 0x7fa5, 0xff80};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(send[i].bits == expected[i]);
    CHECK(back[i].bits == expected[i]);
  }
}

TEST_CASE_TEMPLATE("gpu reference: regrouping permutes rows, ungrouping undoes it", T, Bf16, Fp16, float) {
  const std::vector<T> received = elements<T>({1, 2, 3, 4, 5, 6});
  const std::vector<T> grouped = regroup(received, {2, 0, 1}, 2);
  CHECK(floats(grouped) == std::vector<float>{3, 4, 5, 6, 1, 2});
  CHECK(floats(ungroup(grouped, {2, 0, 1}, 2)) == floats(received));
}

TEST_CASE_TEMPLATE("gpu reference: combine adds weighted rows", T, Bf16, Fp16, float) {
  // Token 0: 0.5 * (1, 2) + 2 * (5, 6); token 1: 3 * (3, 4); token 2: all dropped.
  const std::vector<T> rows = elements<T>({1, 2, 3, 4, 5, 6});
  const std::vector<std::int32_t> positions = {0, 2, -1, 1, -1, -1};
  const std::vector<float> weights = {0.5F, 2.0F, std::nanf(""), 3.0F, 1.0F, 1.0F};
  CHECK(floats(combine(rows, positions, weights, 2, 2)) == std::vector<float>{10.5F, 13, 9, 12, 0, 0});
  // Weights 1: (1 + 5, 2 + 6), (3, 4).
  CHECK(floats(combine(rows, positions, {}, 2, 2)) == std::vector<float>{6, 8, 3, 4, 0, 0});
  CHECK(floats(scatter_backward(rows, positions, 2, 2)) == std::vector<float>{6, 8, 3, 4, 0, 0});
}

TEST_CASE_TEMPLATE("gpu reference: combine adds in the order of the choices, not of the rows", T, Bf16,
                   float) {
  // (2^27 + 1) - 2^27 = 0 and (2^27 - 2^27) + 1 = 1 in fp32.
  const std::vector<T> rows = elements<T>({kBig, 1, -kBig});
  CHECK(floats(combine(rows, {0, 1, 2}, {}, 3, 1)) == std::vector<float>{0});
  CHECK(floats(combine(rows, {0, 2, 1}, {}, 3, 1)) == std::vector<float>{1});
}

TEST_CASE("gpu reference: combine rounds a product and its addition once") {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, which fp32 rounds to 1 + 2^-11: nothing would be left but for the fma.
  const float near_one = 1.0F + 0x1p-12F;
  const std::vector<float> rows = {1.0F + 0x1p-11F, near_one};
  CHECK(combine(rows, {0, 1}, {-1.0F, near_one}, 2, 1) == std::vector<float>{0x1p-24F});
}

TEST_CASE("gpu reference: combine rounds to the element type at the end only") {
  // bf16 has 8 significant bits: 256 + 1 would round to 256 again, 258 is exact.
  CHECK(floats(combine(elements<Bf16>({256, 1, 1}), {0, 1, 2}, {}, 3, 1)) == std::vector<float>{258});
  // fp16 has 11: 2048 + 1 + 1 = 2050.
  CHECK(floats(combine(elements<Fp16>({2048, 1, 1}), {0, 1, 2}, {}, 3, 1)) == std::vector<float>{2050});
}

TEST_CASE_TEMPLATE("gpu reference: the dot product's lanes and butterfly are in their order", T, Bf16,
                   float) {
  const std::size_t width = 16 / sizeof(T);  // elements of a lane in a row
  const std::size_t wrap = kLanes * width;   // the first element of lane 0 after its first ones
  const int hidden = static_cast<int>(2 * wrap);
  // Lane 0 adds its own first: 2^27 + 1 - 2^27 = 0 where the 1 is lane 0's, else 0 + 1.
  CHECK(sum_of<T>(hidden, {{0, kBig}, {width - 1, 1}, {wrap, -kBig}}) == 0);
  CHECK(sum_of<T>(hidden, {{0, kBig}, {width, 1}, {wrap, -kBig}}) == 1);
  // Offset o meets before offset o / 2: lane 0 + lane o first, so the 1 there is lost in 2^27; the other way
  // round lane o / 2 has cancelled the 2^27 before the 1 comes.
  for (const std::size_t offset : {16U, 8U, 4U, 2U}) {
    CHECK(sum_of<T>(hidden, {{0, kBig}, {offset * width, 1}, {offset / 2 * width, -kBig}}) == 0);
    CHECK(sum_of<T>(hidden, {{0, kBig}, {offset * width, -kBig}, {offset / 2 * width, 1}}) == 1);
  }
}

TEST_CASE_TEMPLATE("gpu reference: the dot product is the sum of its lanes' own", T, Bf16, Fp16, float) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "dot");
    std::vector<T> a;
    std::vector<T> b;
    const std::uint64_t hidden = random.below(600);
    for (std::uint64_t i = 0; i < hidden; ++i) {
      a.push_back(from_float<T>(static_cast<float>(random.normal(0, 1))));
      b.push_back(from_float<T>(static_cast<float>(random.normal(0, 1))));
    }
    REQUIRE(warp_dot(a.data(), b.data(), static_cast<int>(hidden)) == dot_by_lanes(a, b));
  }
}

TEST_CASE_TEMPLATE("gpu reference: the gradient of combine by hand", T, Bf16, Fp16, float) {
  // Two tokens, top-2, rows of 2; token 0 in rows 1 and 0 with weights 0.5 and 2, token 1 in row 3 with 3.
  // Row 2 is nobody's. d_rows = w * dy; d_weights: (1, 2).(3, 4) = 11, (1, 2).(1, 2) = 5, (5, 6).(7, 8) = 83.
  const std::vector<T> dy = elements<T>({1, 2, 5, 6});
  const std::vector<T> rows = elements<T>({1, 2, 3, 4, 5, 6, 7, 8});
  const auto gradient = combine_backward(dy, rows, {1, 0, -1, 3}, {0.5F, 2, 1, 3}, 2, 2);
  CHECK(floats(gradient.d_rows) == std::vector<float>{2, 4, 0.5F, 1, 0, 0, 15, 18});
  CHECK(gradient.d_weights == std::vector<float>{11, 5, 0, 83});
  // Weights 1: the gradient of a plain sum.
  CHECK(floats(combine_backward(dy, rows, {1, 0, -1, 3}, {}, 2, 2).d_rows) ==
        std::vector<float>{1, 2, 1, 2, 0, 0, 5, 6});
}

TEST_CASE("gpu reference: a row's gradient is rounded to fp32, then to the element type") {
  // 3 * 11228502 * 2^-25 = 1 + 2^-8 + 2^-24: in fp32 a tie that goes to 1 + 2^-8, in bf16 then one that goes
  // to
  // 1. Rounded at once it would be 1 + 2^-7.
  const auto gradient =
      combine_backward(elements<Bf16>({3}), elements<Bf16>({1}), {0}, {11228502.0F * 0x1p-25F}, 1, 1);
  CHECK(floats(gradient.d_rows) == std::vector<float>{1});
}

TEST_CASE_TEMPLATE("gpu reference: scatter's and combine's gradients are their transposes", T, Bf16, Fp16,
                   float) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "transpose");
    const RandomRows r = random_rows(random);
    const auto tokens = static_cast<std::size_t>(r.tokens);
    const auto hidden = static_cast<std::size_t>(r.hidden);
    const std::vector<T> x = small_integers<T>(random, tokens * hidden);
    const std::vector<T> g = small_integers<T>(random, r.rows * hidden);
    std::vector<T> send(r.rows * hidden, from_float<T>(0.0F));
    scatter(x, r.positions, r.top_k, r.hidden, send);
    REQUIRE(inner(send, g) == inner(x, scatter_backward(g, r.positions, r.top_k, r.hidden)));

    // <dy, combine(rows)> is linear in rows and in weights.
    const std::vector<float> weights = small_integers<float>(random, r.positions.size());
    const std::vector<T> y = combine(g, r.positions, weights, r.top_k, r.hidden);
    const auto gradient = combine_backward(x, g, r.positions, weights, r.top_k, r.hidden);
    REQUIRE(inner(x, y) == inner(g, gradient.d_rows));
    REQUIRE(inner(x, y) == inner(weights, gradient.d_weights));
  }
}

}  // namespace goodput::gpu::reference
