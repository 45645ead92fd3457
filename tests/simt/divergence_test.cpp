// What the machine refuses: divergence, deadlock, partial warps, writes beyond shared memory. Each with its
// text.
#include <doctest/doctest.h>

#include "tests/simt/kernel_case.h"

namespace simt {
namespace {

constexpr int kFirstLine = __LINE__;

__global__ void diverge(int how) {
  const unsigned lane = threadIdx.x % 32;
  if (how == 0 && lane == 3) return;
  if (how == 1 && lane == 3) __syncthreads();
  if (how == 2 && lane == 3) __any_sync(kFull, 1);
  if (how == 3 && lane == 3) __ballot_sync(kFull, 1);
  if (how == 4 && lane == 3) __syncwarp(8U);
  if (how == 5 && lane == 3) __shfl_sync(kFull, lane, 0, 16);
  __ballot_sync(kFull, 1);
}

TEST_CASE("simt: lanes that do not meet in one intrinsic are divergent") {
  const std::string place = "simt: kernel, block (0, 0, 0), warp 0, lane ";
  const std::string ballot = "__ballot_sync " + at_line(kFirstLine + 10);
  const auto at_how = [](int how) { return at_line(kFirstLine + 4 + how); };
  const auto error = [&](int how, Order order = Order::kAscending) {
    const ScheduleScope scope({order, 0});
    return error_of([&] { run_kernel(diverge, {dim3(1), dim3(64), 0}, how); });
  };
  CHECK(error(0) == place + "3: exits while lane 0 of its warp waits at " + ballot + ": divergent");
  CHECK(error(1) == place + "3: calls __syncthreads " + at_how(1) + " while lane 0 of its warp waits at " +
                        ballot + ": divergent");
  CHECK(error(2) == place + "3: calls __any_sync " + at_how(2) + " while lane 0 of its warp waits at " +
                        ballot + ": divergent");
  CHECK(error(3) == place + "3: calls __ballot_sync " + at_how(3) + " while lane 0 of its warp waits at " +
                        ballot + ": divergent");
  CHECK(error(4) ==
        place + "3: __syncwarp " + at_how(4) + " names some lanes only; the mask must be 0xffffffff");
  CHECK(error(5) == place + "3: __shfl_sync: width 16, only 32 is supported");
  CHECK(error(6) == "no error");
}

constexpr int kExitLine = __LINE__;

__global__ void lane_0_leaves(bool to_barrier) {
  if (threadIdx.x == 0 && !to_barrier) return;
  if (threadIdx.x == 0) __syncthreads();
  __syncwarp();
}

TEST_CASE("simt: an intrinsic after a lane has left the warp is divergent") {
  const std::string start = "simt: kernel, block (0, 0, 0), warp 0, lane 1: calls __syncwarp " +
                            at_line(kExitLine + 5) + " while lane 0 of its warp ";
  CHECK(error_of([] {
          run_kernel(lane_0_leaves, {dim3(1), dim3(32), 0}, false);
        }) == start + "has exited: divergent");
  CHECK(error_of([] {
          run_kernel(lane_0_leaves, {dim3(1), dim3(32), 0}, true);
        }) == start + "waits at __syncthreads " + at_line(kExitLine + 4) + ": divergent");
}

__global__ void either_syncwarp() {
  if (threadIdx.x % 2 == 0) {
    __syncwarp();
  } else {
    __syncwarp();
  }
}

TEST_CASE("simt: lanes may meet in different __syncwarp") {
  CHECK(error_of([] { run_kernel(either_syncwarp, {dim3(1), dim3(64), 0}); }) == "no error");
}

constexpr int kBlockLine = __LINE__;

__global__ void uneven_barrier(int how) {
  if (how == 0 && threadIdx.x >= 32) return;
  if (how == 1 && threadIdx.x >= 32) __syncthreads_or(1);
  __syncthreads();
}

TEST_CASE("simt: a barrier that not all threads of the block reach is an error") {
  const std::string place = "simt: kernel uneven_barrier, block (1, 0, 0), warp ";
  name_kernel(reinterpret_cast<const void*>(uneven_barrier), "uneven_barrier");
  const auto error = [&](int how, Order order) {
    const ScheduleScope scope({order, 0});
    return error_of([&] { run_kernel(uneven_barrier, {dim3(2), dim3(64), 0}, how); });
  };
  const std::string sync = "__syncthreads " + at_line(kBlockLine + 5);
  const std::string first = "simt: kernel uneven_barrier, block (0, 0, 0), warp 1, lane 0: ";
  CHECK(error(0, Order::kAscending) == first + "exits while others wait at __syncthreads");
  CHECK(error(0, Order::kDescending) ==
        place + "0, lane 31: calls " + sync + " after a thread of the block has exited");
  CHECK(error(1, Order::kAscending) ==
        first + "calls __syncthreads_or " + at_line(kBlockLine + 4) + " while others wait at __syncthreads");
  CHECK(error(2, Order::kAscending) == "no error");
}

constexpr int kPollLine = __LINE__;

__global__ void endless_wait() {
  auto* const barrier = static_cast<std::uint64_t*>(dynamic_shared());
  if (threadIdx.x == 0) barrier_init(barrier, 2);
  __syncthreads();
  if (threadIdx.x == 0) barrier_arrive_expect_tx(barrier, 64);
  if (threadIdx.x == 0)
    while (!barrier_try_wait(barrier, 0)) {
    }
  if (threadIdx.x < 32) __syncwarp();
}

TEST_CASE("simt: a deadlock tells what every warp waits for") {
  const std::string poll = "barrier_try_wait " + at_line(kPollLine + 8);
  CHECK(error_of([] {
          run_kernel(endless_wait, {dim3(1), dim3(64), 8});
        }) ==
        "simt: kernel, block (0, 0, 0), warp 0, lane 0: nothing can go on any more: deadlock; warp 0: 1 at " +
            poll + ", 31 at __syncwarp " + at_line(kPollLine + 10) +
            "; warp 1: 32 at the end; barrier at byte 0: 1 arrivals missing, 64 bytes expected, 0 in flight");
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    const ScheduleScope scope({Order::kRandom, seed});
    const std::string error = error_of([] { run_kernel(endless_wait, {dim3(1), dim3(64), 8}); });
    CHECK(error.find("nothing can go on any more: deadlock; warp 0: 1 at " + poll) != std::string::npos);
  }
}

struct CountsAlive {
  int* alive;
  explicit CountsAlive(int* counter) : alive(counter) { ++*alive; }
  ~CountsAlive() { --*alive; }
  CountsAlive(const CountsAlive&) = delete;
  CountsAlive& operator=(const CountsAlive&) = delete;
};

__global__ void last_thread_traps(int* alive) {
  const CountsAlive guard(alive);
  __syncwarp();
  if (threadIdx.x == blockDim.x - 1) __trap();
  __syncthreads();
}

TEST_CASE("simt: an error unwinds every thread of the block, and the machine runs on") {
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    int alive = 0;
    CHECK(error_of([&] {
            run_kernel(last_thread_traps, {dim3(1), dim3(1024), 0}, &alive);
          }) == "simt: kernel, block (0, 0, 0), warp 31, lane 31: __trap");
    CHECK(alive == 0);
    CHECK(error_of([] { run_kernel(either_syncwarp, {dim3(2), dim3(1024), 0}); }) == "no error");
  }
}

__global__ void nothing() {}

TEST_CASE("simt: blocks are of whole warps") {
  CHECK(error_of([] {
          run_kernel(nothing, {dim3(1), dim3(16, 3), 0});
        }) == "simt: kernel: blocks of 48 threads, not of whole warps");
  name_kernel(reinterpret_cast<const void*>(nothing), "nothing");
  CHECK(error_of([] {
          run_kernel(nothing, {dim3(1), dim3(1), 0});
        }) == "simt: kernel nothing: blocks of 1 threads, not of whole warps");
}

#if !defined(__SANITIZE_ADDRESS__)
__global__ void writes_at(long offset) {
  if (threadIdx.x == 0) static_cast<volatile unsigned char*>(dynamic_shared())[offset] = 1;
}

TEST_CASE("simt: a write next to shared memory is an error, without AddressSanitizer too") {
  const std::string error = "simt: kernel, block (0, 0, 0): wrote outside of its dynamic shared memory";
  CHECK(error_of([] { run_kernel(writes_at, {dim3(1), dim3(32), 100}, 100L); }) == error);
  CHECK(error_of([] { run_kernel(writes_at, {dim3(1), dim3(32), 100}, -1L); }) == error);
  CHECK(error_of([] { run_kernel(writes_at, {dim3(1), dim3(32), 100}, 99L); }) == "no error");
}
#endif

}  // namespace
}  // namespace simt
