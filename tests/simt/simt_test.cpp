// The machine: threads, barriers, warp intrinsics, divergence, shared memory, and the device functions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "tests/simt/kernel_case.h"

namespace simt {
namespace {

__global__ void where_am_i(std::vector<unsigned>* seen) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  seen->push_back(block * blockDim.x * blockDim.y * blockDim.z + thread);
}

TEST_CASE("simt: every thread of every block runs once, in the schedule's order") {
  const unsigned threads = 3 * 2 * 2 * 8 * 2 * 4;
  std::vector<unsigned> all(threads);
  std::iota(all.begin(), all.end(), 0U);
  std::set<std::vector<unsigned>> orders;
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    std::vector<unsigned> seen;
    run_kernel(where_am_i, {dim3(3, 2, 2), dim3(8, 2, 4), 0}, &seen);
    if (schedule.order == Order::kAscending) CHECK(seen == all);
    if (schedule.order == Order::kDescending) CHECK(std::equal(seen.begin(), seen.end(), all.rbegin()));
    orders.insert(seen);
    std::sort(seen.begin(), seen.end());
    CHECK(seen == all);
  }
  CHECK(orders.size() == schedules().size());
}

TEST_CASE("simt: a random order is that of its seed") {
  std::map<std::uint64_t, std::vector<unsigned>> first;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const ScheduleScope scope({Order::kRandom, seed});
      std::vector<unsigned> seen;
      run_kernel(where_am_i, {dim3(2), dim3(64), 0}, &seen);
      if (round == 0) first[seed] = seen;
      CHECK(seen == first[seed]);
    }
  }
}

// Sums in shared memory by halving; without the barrier in the loop a thread reads what is not written yet.
template <bool kSynchronised>
__global__ void halving_sum(const unsigned* in, unsigned* out) {
  auto* const partial = static_cast<unsigned*>(dynamic_shared());
  partial[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    if (kSynchronised) __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

template <bool kSynchronised>
int wrong_sums() {
  std::vector<unsigned> in(4 * 256);
  std::iota(in.begin(), in.end(), 7U);
  int wrong = 0;
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    std::vector<unsigned> out(4);
    run_kernel(halving_sum<kSynchronised>, {dim3(4), dim3(256), 256 * sizeof(unsigned)}, in.data(),
               out.data());
    for (std::size_t b = 0; b < 4; ++b)
      wrong += out[b] == std::accumulate(&in[b * 256], &in[b * 256] + 256, 0U) ? 0 : 1;
  }
  return wrong;
}

TEST_CASE("simt: barriers of a block order its shared memory, and a missing one shows") {
  CHECK(wrong_sums<true>() == 0);
  CHECK(wrong_sums<false>() > 0);
}

__global__ void block_votes(int* answers) {
  const int self = static_cast<int>(threadIdx.x);
  const int any_of_none = __syncthreads_or(0);
  const int any_of_one = __syncthreads_or(self == 70);
  const int all_but_one = __syncthreads_and(self != 70);
  const int all = __syncthreads_and(self + 1);
  const int odd = __syncthreads_count(self % 2);
  const int mine[] = {any_of_none, any_of_one, all_but_one, all, odd};
  std::copy(std::begin(mine), std::end(mine), answers + 5 * self);
}

TEST_CASE("simt: __syncthreads_or, _and and _count answer for the whole block") {
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    std::vector<int> answers(5 * 96);
    run_kernel(block_votes, {dim3(1), dim3(96), 0}, answers.data());
    for (std::size_t thread = 0; thread < 96; ++thread) {
      const std::vector<int> mine(&answers[thread * 5], &answers[thread * 5] + 5);
      CHECK(mine == std::vector<int>{0, 1, 0, 1, 48});
    }
  }
}

struct LaneAnswers {
  unsigned values[18];
};

__global__ void lane_answers(LaneAnswers* answers) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned value = threadIdx.x * 10;
  const unsigned long long wide = (1ULL << 40) + threadIdx.x;
  LaneAnswers mine{};
  unsigned* next = mine.values;
  *next++ = __shfl_sync(kFull, value, 5);
  *next++ = __shfl_sync(kFull, value, lane + 33);  // modulo the width
  *next++ = __shfl_up_sync(kFull, value, 3);
  *next++ = __shfl_down_sync(kFull, value, 30);
  *next++ = __shfl_xor_sync(kFull, value, 16);
  *next++ = static_cast<unsigned>(__shfl_xor_sync(kFull, wide, 1) >> 8);
  *next++ = static_cast<unsigned>(__shfl_down_sync(kFull, static_cast<float>(value), 1));
  *next++ = __ballot_sync(kFull, lane % 3 == 0);
  *next++ = static_cast<unsigned>(__any_sync(kFull, lane == 31) + 2 * __any_sync(kFull, 0));
  *next++ = static_cast<unsigned>(__all_sync(kFull, lane + 1) + 2 * __all_sync(kFull, lane));
  *next++ = __match_any_sync(kFull, lane / 4);
  __syncwarp();
  *next++ = __reduce_min_sync(kFull, value);
  *next++ = static_cast<unsigned>(__reduce_max_sync(kFull, lane - 40));
  *next++ = __reduce_add_sync(kFull, value);
  *next++ = __reduce_or_sync(kFull, 1U << (lane / 2));
  *next++ = __reduce_and_sync(kFull, ~(1U << (lane / 2)));
  *next++ = __reduce_xor_sync(kFull, static_cast<unsigned>(lane));
  *next++ = static_cast<unsigned>(__reduce_min_sync(kFull, lane - 40));
  answers[threadIdx.x] = mine;
}

TEST_CASE("simt: warp intrinsics give what CUDA's definitions give") {
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    std::vector<LaneAnswers> answers(64);
    run_kernel(lane_answers, {dim3(1), dim3(64), 0}, answers.data());
    for (unsigned t = 0; t < 64; ++t) {
      const unsigned lane = t % 32;
      const unsigned warp = t - lane;
      const unsigned up = lane < 3 ? t : t - 3;
      const unsigned down = lane < 2 ? t + 30 : t;
      const unsigned next = lane < 31 ? t + 1 : t;
      const std::vector<unsigned> expected = {
          (warp + 5) * 10,
          (warp + (lane + 1) % 32) * 10,
          up * 10,
          down * 10,
          (t ^ 16U) * 10,
          static_cast<unsigned>((1ULL << 40) >> 8),  // 2^32: 0, and t < 256 is shifted out
          next * 10,
          0x49249249U,
          1,
          1,
          0xfU << (lane / 4 * 4),
          warp * 10,
          static_cast<unsigned>(31 - 40),
          10 * (32 * warp + 496),  // 0 + .. + 31 = 496
          0xffffU,
          ~0xffffU,
          0,
          static_cast<unsigned>(-40)};
      CHECK(std::vector<unsigned>(answers[t].values, answers[t].values + 18) == expected);
    }
  }
}

// A warp's own barrier is enough where only its lanes share; without it a lane reads before another has
// written.
template <bool kSynchronised>
__global__ void neighbour(unsigned* out) {
  auto* const values = static_cast<unsigned*>(dynamic_shared());
  values[threadIdx.x] = threadIdx.x;
  if (kSynchronised) __syncwarp();
  out[threadIdx.x] = values[threadIdx.x ^ 1U];
}

TEST_CASE("simt: a missing __syncwarp shows") {
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    std::vector<unsigned> good(64), bad(64), expected(64);
    run_kernel(neighbour<true>, {dim3(1), dim3(64), 256}, good.data());
    run_kernel(neighbour<false>, {dim3(1), dim3(64), 256}, bad.data());
    for (unsigned t = 0; t < 64; ++t) expected[t] = t ^ 1U;
    CHECK(good == expected);
    CHECK(bad != expected);
    CHECK(std::find(bad.begin(), bad.end(), 0xA5A5A5A5U) != bad.end());  // the poison of shared memory
  }
}

__global__ void shared_bytes(std::vector<std::vector<unsigned char>>* seen, std::size_t bytes) {
  if (threadIdx.x != 0) return;
  auto* const shared = static_cast<unsigned char*>(dynamic_shared());
  REQUIRE(reinterpret_cast<std::uintptr_t>(shared) % 128 == 0);
  seen->emplace_back(shared, shared + bytes);
  std::memset(shared, 0, bytes);
}

TEST_CASE("simt: shared memory is poisoned anew for every block") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{49152}}) {
    std::vector<std::vector<unsigned char>> seen;
    run_kernel(shared_bytes, {dim3(3), dim3(32), bytes}, &seen, bytes);
    REQUIRE(seen.size() == 3);
    for (const auto& block : seen) CHECK(block == std::vector<unsigned char>(bytes, 0xA5));
  }
}

__global__ void one_thread_arithmetic(std::vector<long long>* out, unsigned* cell) {
  if (threadIdx.x != 0) return;
  *cell = 5;
  *out = {__popc(0xf0f0U),
          __popcll(~0ULL),
          __ffs(0),
          __ffs(8),
          __clz(0),
          __clz(1),
          __clzll(1),
          __brev(1U),
          min(-1, 2),
          max(3U, 2U),
          max(5LL, 9LL),
          __float_as_uint(1.0F),
          static_cast<long long>(__uint_as_float(0x40000000U)),
          atomicAdd(cell, 3),
          atomicMin(cell, 2),
          atomicMax(cell, 6),
          atomicOr(cell, 9U),
          atomicCAS(cell, 15U, 1U),
          atomicCAS(cell, 15U, 2U),
          atomicExch(cell, 4U),
          *cell,
          __ldg(cell),
          warpSize};
}

TEST_CASE("simt: bits, extremes and atomics") {
  std::vector<long long> out;
  unsigned cell = 0;
  run_kernel(one_thread_arithmetic, {dim3(1), dim3(32), 0}, &out, &cell);
  CHECK(out == std::vector<long long>{8, 64, 0, 4, 32, 31, 63, 0x80000000LL, -1, 3, 9, 0x3f800000, 2, 5, 8, 2,
                                      6, 15, 1, 1, 4,  4,  32});
}

__global__ void rounded_product(float a, float b, float c, float* out) {
  if (threadIdx.x != 0) return;
  out[0] = __fmaf_rn(a, b, c);
  out[1] = __fadd_rn(__fmul_rn(a, b), c);
}

TEST_CASE("simt: a fused multiply-add rounds once, a product and a sum twice") {
  const float a = 1.0F + 0x1p-12F;  // a * a = 1 + 2^-11 + 2^-24, the last of which a float loses
  float out[2];
  run_kernel(rounded_product, {dim3(1), dim3(32), 0}, a, a, -(1.0F + 0x1p-11F), out);
  CHECK(out[0] == 0x1p-24F);
  CHECK(out[1] == 0.0F);
}

__global__ void misaligned(const unsigned char* bytes, int what) {
  if (what == 0) (void)__ldg(reinterpret_cast<const uint4*>(bytes));
  if (what == 1) (void)__ldcs(reinterpret_cast<const uint2*>(bytes));
  if (what == 2) (void)__ldcg(reinterpret_cast<const float4*>(bytes));
  auto* const target = const_cast<unsigned char*>(bytes);
  if (what == 3) __stcs(reinterpret_cast<uint4*>(target), make_uint4(0, 0, 0, 0));
  if (what == 4) __stcg(reinterpret_cast<unsigned*>(target), 0U);
  if (what == 5) __stwt(reinterpret_cast<uint4*>(target), make_uint4(0, 0, 0, 0));
  if (what == 6) atomicAdd(reinterpret_cast<unsigned*>(target), 1U);
  if (what == 7) __trap();
}

TEST_CASE("simt: misaligned vectors and traps are errors") {
  alignas(16) unsigned char bytes[64] = {};
  const std::string place = "simt: kernel, block (0, 0, 0), warp 0, lane 0: ";
  const auto error = [&](int what) {
    return error_of([&] { run_kernel(misaligned, {dim3(1), dim3(32), 0}, bytes + 2, what); });
  };
  CHECK(error(0) == place + "__ldg: the address is not aligned to 16 bytes");
  CHECK(error(1) == place + "__ldcs: the address is not aligned to 8 bytes");
  CHECK(error(2) == place + "__ldcg: the address is not aligned to 16 bytes");
  CHECK(error(3) == place + "__stcs: the address is not aligned to 16 bytes");
  CHECK(error(4) == place + "__stcg: the address is not aligned to 4 bytes");
  CHECK(error(5) == place + "__stwt: the address is not aligned to 16 bytes");
  CHECK(error(6) == place + "atomic: the address is not aligned to 4 bytes");
  CHECK(error(7) == place + "__trap");
  CHECK(error_of([&] { run_kernel(misaligned, {dim3(1), dim3(32), 0}, bytes + 16, 0); }) == "no error");
}

}  // namespace
}  // namespace simt
