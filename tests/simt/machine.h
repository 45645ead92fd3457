// Runs CUDA kernels on the host, thread by thread: the sources of gpu/*.cu compiled by a C++ compiler
// against the cuda_runtime.h of this folder call into the machine here.
//
// Blocks run one after another. The threads of a block are fibers of one host thread: each runs until its
// next barrier, warp intrinsic, failed try_wait or end; among those that can go on, the schedule picks
// one. In ascending (descending) order that is always the lowest (highest), so warps drift apart as far as
// synchronisation lets them; a random order is the same for the same seed and the same calls.
//
// Divergence is an error at once: all 32 lanes must meet in the same intrinsic at the same place in the
// source (__syncwarp at any), all threads of a block in the same kind of __syncthreads, and none may have
// exited. Waiting that cannot end is an error too; a spin on plain memory is not noticed and never ends. A
// failing kernel throws std::runtime_error from whatever executes it, with kernel, block and thread.
//
// Dynamic shared memory has exactly the launch's size and 128-byte alignment, holds the poison byte 0xA5
// when a block starts, and has red zones on both sides: AddressSanitizer traps, or a block that wrote
// there fails.
//
// Not modelled: the memory model (between two switches a thread's accesses are instantaneous and seen by
// all: fences are no-ops, and a missing __threadfence or __syncwarp shows only where an order above
// reveals it), blocks at the same time (blocks that wait for each other hang), clusters, proxies, static
// __shared__ variables, registers, caches, bank conflicts, and anything of performance.
//
// REQUIRES one host thread at a time, and kernels that hold no exception across a barrier or an intrinsic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/simt/async_copy.h"
#include "tests/simt/fiber_pool.h"
#include "tests/simt/shared_memory.h"
#include "tests/simt/site.h"
#include "tests/simt/thread_set.h"
#include "tests/simt/vector_types.h"

namespace simt {

enum class Order { kAscending, kDescending, kRandom };

struct Schedule {
  Order order = Order::kAscending;
  std::uint64_t seed = 0;  // of kRandom
};

// Also restarts the random order. Holds for blocks, threads, streams and the arrival of bulk loads.
void set_schedule(Schedule schedule);

struct Counters {
  std::uint64_t kernels = 0;
  std::uint64_t bulk_load_bytes = 0;
  std::uint64_t bulk_store_bytes = 0;
};

// What was executed since the program's start.
Counters counters();

constexpr int kWarpLanes = 32;
constexpr unsigned kMaxBlockThreads = 1024;

enum class BlockOp : std::uint8_t { kSync, kOr, kAnd, kCount };

enum class WarpOp : std::uint8_t {
  kSync,
  kShfl,
  kShflUp,
  kShflDown,
  kShflXor,
  kBallot,
  kAny,
  kAll,
  kMatchAny,
  kReduceMin,
  kReduceMax,
  kReduceAdd,
  kReduceOr,
  kReduceAnd,
  kReduceXor,
};

const char* name_of(BlockOp op);
const char* name_of(WarpOp op);

// What the lanes of a warp brought to an intrinsic.
struct WarpExchange {
  std::array<std::uint64_t, kWarpLanes> values{};
  unsigned votes = 0;  // bit l: lane l's value is not 0
};

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
};

// The special registers of the thread that runs; the machine writes them.
struct SpecialRegisters {
  uint3 thread_index{};
  uint3 block_index{};
  dim3 block_dim;
  dim3 grid_dim;
};
extern SpecialRegisters special_registers;

class Machine {
 public:
  Machine();

  void set_schedule(Schedule schedule);
  const Schedule& schedule() const { return schedule_; }

  // Uniform below `bound`, from the schedule's seed. REQUIRES: bound > 0.
  std::uint64_t random_below(std::uint64_t bound) { return generator_() % bound; }

  // Runs `body` once for every thread. `kernel` names it in errors; empty: unknown.
  void run(const LaunchShape& shape, const std::string& kernel, const std::function<void()>& body);

  // From here on: what the threads of a kernel call. The thread that runs is the one that calls.

  // Waits for the whole block; returns how many threads brought a `predicate` other than 0.
  int meet_block(BlockOp op, int predicate, Site site);

  // Waits for the whole warp. The answer stays until the lane's next but one call.
  const WarpExchange& meet_warp(WarpOp op, unsigned mask, std::uint64_t value, Site site);

  // Lets every other thread that can go on run first. Called again and again by all that are left while none
  // of them makes progress it is a deadlock, described by `what` (a literal) of every thread.
  void poll_again(const char* what, Site site);
  void note_progress() { fruitless_polls_ = 0; }

  [[noreturn]] void fail(const std::string& what) const;

  // A clock of 1 GHz that stands still but for a look at its cycles, which takes 1000 of them.
  std::int64_t look_at_cycles() { return clock_ += 1000; }
  std::int64_t clock_ns() const { return clock_; }

  int thread() const { return current_; }
  int lane() const { return current_ % kWarpLanes; }
  SharedMemory& shared() { return shared_; }
  AsyncCopies& copies() { return copies_; }
  Counters& counters() { return counters_; }

 private:
  struct Thread {
    enum class State : std::uint8_t { kUnstarted, kStarted, kExited };
    uint3 index{};
    State state = State::kUnstarted;
    int fiber = -1;
    const char* waits_at = nullptr;
    Site site;
  };
  struct Warp {
    std::array<WarpExchange, 2> exchanges;  // a lane may bring to one while another still reads the last
    unsigned phase = 0;
    WarpOp op = WarpOp::kSync;
    unsigned arrived = 0;
    unsigned at_block_barrier = 0;
    unsigned exited = 0;
  };
  struct BlockBarrier {
    std::array<int, 2> counts{};
    unsigned phase = 0;
    BlockOp op = BlockOp::kSync;
    int arrived = 0;
  };

  void start_block(const LaunchShape& shape, std::uint64_t block);
  void run_block();
  void run_threads();  // on a fiber: the chosen thread to its end, and unstarted ones after it
  void run_thread();
  void choose_next();
  void make_current(int thread);
  void wait_for_turn(const char* what, Site site);
  void abandon_block();
  void check_converged(const Warp& warp, WarpOp op, Site site) const;
  void check_exit(const Warp& warp) const;
  [[noreturn]] void fail_divergent(const std::string& does, const Warp& warp, unsigned others) const;
  [[noreturn]] void fail_deadlocked() const;
  std::string wait_of(int thread) const;
  Warp& warp() { return warps_[static_cast<std::size_t>(current_ / kWarpLanes)]; }
  Thread& current() { return threads_[static_cast<std::size_t>(current_)]; }
  int threads_in_block() const { return static_cast<int>(threads_.size()); }

  Schedule schedule_;
  std::mt19937_64 generator_;
  Counters counters_;
  FiberPool fibers_;
  SharedMemory shared_;
  AsyncCopies copies_;

  std::string kernel_;
  const std::function<void()>* body_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  BlockBarrier barrier_;
  ThreadSet ready_;
  ThreadSet polling_;  // not before every ready one has run
  int current_ = -1;
  int next_ = -1;  // chosen to run, -1: none can
  int exited_ = 0;
  std::int64_t clock_ = 0;
  int fruitless_polls_ = 0;
  bool abandoning_ = false;
  std::exception_ptr error_;
};

// The one machine: kernels have no parameter through which it could reach their intrinsics.
Machine& machine();

}  // namespace simt
