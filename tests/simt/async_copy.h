// Hopper's bulk asynchronous copies and the barriers that count their bytes (cp.async.bulk, mbarrier), as
// the emulated bodies of gpu/bulk_copy.cuh.
//
// A load's bytes are read from global memory and land when a barrier that misses nothing else is polled,
// the latest moment that the device's rules allow; until then the destination holds 0xDB. In a random
// order some loads land at once, and some polls of a complete phase fail first, as they may on the device.
//
// A store's bytes are read from shared memory at the first wait of its thread that covers its group (in a
// random order some at the commit), and reach global memory at bulk_wait_group or at the kernel's end.
//
// Alignment, sizes and places are checked; a thread that exits with a store that was not committed or not
// waited for, and a block that ends with a load in flight, are errors. Not modelled: proxy fences; a
// barrier's word holds no counts and cannot be looked into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/simt/site.h"

namespace simt {

// Called by the threads of a kernel.
void barrier_init(std::uint64_t* barrier, unsigned arrivals);
void barrier_arrive_expect_tx(std::uint64_t* barrier, unsigned bytes);
bool barrier_try_wait(std::uint64_t* barrier, unsigned parity, Site site = Site::here());
void bulk_load(void* shared, const void* global, unsigned bytes, std::uint64_t* barrier);
void bulk_store(void* global, const void* shared, unsigned bytes);
void bulk_commit_group();
void bulk_wait_group_read(int at_most_pending);
void bulk_wait_group(int at_most_pending);

constexpr unsigned char kInFlightPoison = 0xDB;

class Machine;

// The copies of the block that runs, and the stores of earlier blocks that wait for the kernel's end.
class AsyncCopies {
 public:
  explicit AsyncCopies(Machine& machine) : machine_(machine) {}

  void init(std::uint64_t* barrier, unsigned arrivals);
  void arrive_expect_tx(std::uint64_t* barrier, unsigned bytes);
  bool try_wait(std::uint64_t* barrier, unsigned parity, Site site);
  void load(void* shared, const void* global, unsigned bytes, std::uint64_t* barrier);
  void store(void* global, const void* shared, unsigned bytes);
  void commit_group();
  void wait_group_read(int at_most_pending);
  void wait_group(int at_most_pending);

  // The machine says what happens around them.
  void start_block(std::size_t threads);
  void end_thread();
  void end_block();
  void end_grid();
  void abandon();
  std::string description() const;  // of the barriers, for a deadlock

 private:
  struct Load {
    void* shared;
    const void* global;
    unsigned bytes;
  };
  struct Barrier {
    unsigned arrivals = 0;  // a phase
    unsigned missing = 0;   // of this phase's
    unsigned phase = 0;
    std::int64_t expected_bytes = 0;  // below 0 while a load landed before it was expected
    std::vector<Load> in_flight;
  };
  struct Store {
    void* global;
    const void* shared;
    std::vector<unsigned char> bytes;  // filled when they are read
  };
  struct Group {
    std::vector<Store> stores;
    bool read = false;
  };
  struct ThreadStores {
    std::vector<Store> open;
    std::vector<Group> groups;  // oldest first
  };

  Barrier& barrier_at(std::uint64_t* barrier, const char* what);
  void check_copy(const char* what, const void* shared, const void* global, unsigned bytes) const;
  void land(Barrier& barrier, const Load& load);
  void settle(Barrier& barrier);
  bool can_land_all(const Barrier& barrier) const;
  bool by_chance(std::uint64_t one_in) const;
  ThreadStores& mine();
  static void read(Group& group);
  static void write(const Group& group);
  std::size_t covered_by_wait(const char* what, int at_most_pending);

  Machine& machine_;
  std::map<std::size_t, Barrier> barriers_;  // by offset in shared memory
  std::vector<ThreadStores> stores_;         // by thread; empty until the block's first store
  std::size_t threads_ = 0;
  std::vector<Group> until_grid_end_;
};

}  // namespace simt
