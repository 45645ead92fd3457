// Bulk copies: as late as the device may do them, and what they refuse.
#include <doctest/doctest.h>

#include <numeric>

#include "tests/simt/kernel_case.h"

namespace simt {
namespace {

constexpr unsigned kBytes = 256;  // of a piece
constexpr unsigned kWords = kBytes / 4;

void wait_for(std::uint64_t* barrier, unsigned parity) {
  while (!barrier_try_wait(barrier, parity)) {
  }
}

// Adds 1 to every word, piece by piece, through two stages of shared memory. kLoadWaits: every thread waits
// for its piece; kStoreWaits: a stage is refilled only after its store has read it.
template <bool kLoadWaits, bool kStoreWaits>
__global__ void add_one(const unsigned* in, unsigned* out, unsigned pieces) {
  auto* const barriers = static_cast<std::uint64_t*>(dynamic_shared());
  auto* const stages = static_cast<unsigned*>(dynamic_shared()) + 32;
  if (threadIdx.x == 0)
    for (int stage = 0; stage < 2; ++stage) barrier_init(barriers + stage, 1);
  __syncthreads();
  for (unsigned p = 0; p < pieces; ++p) {
    const unsigned stage = p % 2;
    unsigned* const words = stages + stage * kWords;
    if (threadIdx.x == 0) {
      if (kStoreWaits) bulk_wait_group_read(1);
      barrier_arrive_expect_tx(barriers + stage, kBytes);
      bulk_load(words, in + p * kWords, kBytes, barriers + stage);
    }
    if (kLoadWaits || threadIdx.x % 32 == 1) wait_for(barriers + stage, p / 2 % 2);
    for (unsigned w = threadIdx.x; w < kWords; w += blockDim.x) words[w] += 1;
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(out + p * kWords, words, kBytes);
      bulk_commit_group();
    }
  }
  if (threadIdx.x == 0) bulk_wait_group_read(0);
}

template <bool kLoadWaits, bool kStoreWaits>
int wrong_results() {
  constexpr unsigned kPieces = 7;
  alignas(16) unsigned in[kPieces * kWords];
  std::iota(std::begin(in), std::end(in), 100U);
  int wrong = 0;
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    alignas(16) unsigned out[kPieces * kWords] = {};
    run_kernel(add_one<kLoadWaits, kStoreWaits>, {dim3(1), dim3(64), 128 + 2 * kBytes}, in, out, kPieces);
    int bad = 0;
    for (std::size_t w = 0; w < std::size(in); ++w) bad += out[w] == in[w] + 1 ? 0 : 1;
    wrong += bad == 0 ? 0 : 1;
  }
  return wrong;
}

TEST_CASE("simt: a pipeline of bulk copies is right, and a wait that is missing shows") {
  CHECK(wrong_results<true, true>() == 0);
  CHECK(wrong_results<false, true>() > 0);
  CHECK(wrong_results<true, false>() > 0);
}

__global__ void copy_observed(const unsigned* in, unsigned* out, unsigned* seen) {
  if (threadIdx.x != 0) return;
  auto* const barrier = static_cast<std::uint64_t*>(dynamic_shared());
  auto* const words = static_cast<unsigned*>(dynamic_shared()) + 4;
  barrier_init(barrier, 2);
  seen[0] = barrier_try_wait(barrier, 1) ? 1 : 0;  // the phase before the first counts as complete
  barrier_arrive_expect_tx(barrier, 16);
  bulk_load(words, in, 16, barrier);
  seen[1] = barrier_try_wait(barrier, 0) ? 1 : 0;  // an arrival is missing
  seen[2] = words[0];
  barrier_arrive_expect_tx(barrier, 0);
  seen[3] = barrier_try_wait(barrier, 0) ? 1 : 0;
  seen[4] = words[0];
  bulk_store(out, words, 16);
  bulk_commit_group();
  bulk_store(out + 4, words, 16);
  bulk_commit_group();
  bulk_wait_group_read(1);  // the first
  words[0] = 77;
  seen[5] = out[0];
  bulk_wait_group(1);
  seen[6] = out[0];
  bulk_wait_group_read(0);
  words[0] = 88;
}

TEST_CASE("simt: bulk copies happen at the last moment that is allowed") {
  alignas(16) unsigned in[4] = {11, 12, 13, 14};
  alignas(16) unsigned out[8] = {};
  std::vector<unsigned> seen(7);
  const Counters before = counters();
  run_kernel(copy_observed, {dim3(1), dim3(32), 32}, in, out, seen.data());
  CHECK(seen == std::vector<unsigned>{1, 0, 0xDBDBDBDBU, 1, 11, 0, 11});
  CHECK(out[0] == 11);
  CHECK(out[4] == 77);  // read after the overwriting, written at the kernel's end
  CHECK(out[5] == 12);
  CHECK(counters().kernels == before.kernels + 1);
  CHECK(counters().bulk_load_bytes == before.bulk_load_bytes + 16);
  CHECK(counters().bulk_store_bytes == before.bulk_store_bytes + 32);
}

__global__ void misuse(int how, unsigned char* global) {
  if (threadIdx.x != 0) return;
  auto* const shared = static_cast<unsigned char*>(dynamic_shared());
  auto* const barrier = reinterpret_cast<std::uint64_t*>(shared);
  auto* const words = shared + 16;
  static std::uint64_t elsewhere;
  if (how == 0) barrier_init(reinterpret_cast<std::uint64_t*>(shared + 4), 1);
  if (how == 1) barrier_init(&elsewhere, 1);
  if (how == 2) barrier_init(barrier, 0);
  if (how == 3) barrier_init(barrier, 1U << 20);
  if (how == 4) barrier_try_wait(barrier, 0);
  barrier_init(barrier, 1);
  if (how == 5) *barrier = 0;
  if (how == 5) barrier_arrive_expect_tx(barrier, 0);
  if (how == 6) barrier_arrive_expect_tx(barrier, 1U << 20);
  if (how == 7) barrier_try_wait(barrier, 2);
  if (how == 8) bulk_load(words, global, 0, barrier);
  if (how == 9) bulk_load(words, global, 24, barrier);
  if (how == 10) bulk_load(words, global + 8, 16, barrier);
  if (how == 11) bulk_store(global, words + 8, 16);
  if (how == 12) bulk_load(words, global, 128, barrier);
  if (how == 13) bulk_store(global, global, 16);
  if (how == 14) bulk_load(words, global, 16, barrier + 1);
  if (how == 15) bulk_load(words, global, 16, barrier);
  if (how == 16) bulk_store(global, words, 16);
  if (how == 17) {
    bulk_store(global, words, 16);
    bulk_commit_group();
  }
  if (how == 18) {
    barrier_arrive_expect_tx(barrier, 16);
    barrier_arrive_expect_tx(barrier, 16);
  }
  if (how == 19) bulk_wait_group(-1);
  if (how == 20) bulk_wait_group_read(-2);
  if (how == 21) {
    bulk_load(words, global, 16, barrier);
    barrier_init(barrier, 1);
  }
}

TEST_CASE("simt: misused bulk copies are errors") {
  const std::vector<std::string> errors = {
      "barrier_init: the barrier must be 8-byte aligned in shared memory",
      "barrier_init: the barrier must be 8-byte aligned in shared memory",
      "barrier_init: 0 arrivals, not in 1 .. 1048575",
      "barrier_init: 1048576 arrivals, not in 1 .. 1048575",
      "barrier_try_wait: no barrier there, or it was overwritten",
      "barrier_arrive_expect_tx: no barrier there, or it was overwritten",
      "barrier_arrive_expect_tx: 1048576 bytes, not in 0 .. 1048575",
      "barrier_try_wait: parity 2, not 0 or 1",
      "bulk_load: 0 bytes, not a multiple of 16 above 0",
      "bulk_load: 24 bytes, not a multiple of 16 above 0",
      "bulk_load: an address is not 16-byte aligned",
      "bulk_store: an address is not 16-byte aligned",
      "bulk_load: the range is not in the block's dynamic shared memory",
      "bulk_store: the range is not in the block's dynamic shared memory",
      "bulk_load: no barrier there, or it was overwritten",
      "ends with bulk loads in flight at the barrier at byte 0",
      "exits with bulk stores that it has not committed",
      "exits without waiting until its bulk stores have read shared memory",
      "barrier_arrive_expect_tx: all 1 arrivals of the phase have been, and nobody has seen its bytes land",
      "bulk_wait_group: -1 groups, below 0",
      "bulk_wait_group_read: -2 groups, below 0",
      "barrier_init: the barrier has loads in flight",
  };
  alignas(16) unsigned char global[256] = {};
  for (std::size_t how = 0; how < errors.size(); ++how) {
    INFO("how: " << how);
    const std::string place =
        how == 15 ? "simt: kernel, block (0, 0, 0): " : "simt: kernel, block (0, 0, 0), warp 0, lane 0: ";
    CHECK(error_of([&] {
            run_kernel(misuse, {dim3(1), dim3(32), 128}, static_cast<int>(how), global);
          }) == place + errors[how]);
  }
  CHECK(error_of([&] { run_kernel(misuse, {dim3(1), dim3(32), 128}, 99, global); }) == "no error");
}

}  // namespace
}  // namespace simt
