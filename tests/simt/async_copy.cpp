#include "tests/simt/async_copy.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "tests/simt/machine.h"

namespace simt {

namespace {

constexpr std::uint64_t kBarrierMark = 0x6d62617272696572;  // xor the offset; neither 0 nor a poison
constexpr unsigned kMaxBarrierCount = (1U << 20) - 1;       // arrivals and bytes, PTX's mbarrier limits
constexpr unsigned kCopyUnit = 16;

bool is_aligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

}  // namespace

void barrier_init(std::uint64_t* barrier, unsigned arrivals) {
  machine().copies().init(barrier, arrivals);
}

void barrier_arrive_expect_tx(std::uint64_t* barrier, unsigned bytes) {
  machine().copies().arrive_expect_tx(barrier, bytes);
}

bool barrier_try_wait(std::uint64_t* barrier, unsigned parity, Site site) {
  return machine().copies().try_wait(barrier, parity, site);
}

void bulk_load(void* shared, const void* global, unsigned bytes, std::uint64_t* barrier) {
  machine().copies().load(shared, global, bytes, barrier);
}

void bulk_store(void* global, const void* shared, unsigned bytes) {
  machine().copies().store(global, shared, bytes);
}

void bulk_commit_group() {
  machine().copies().commit_group();
}

void bulk_wait_group_read(int at_most_pending) {
  machine().copies().wait_group_read(at_most_pending);
}

void bulk_wait_group(int at_most_pending) {
  machine().copies().wait_group(at_most_pending);
}

void AsyncCopies::init(std::uint64_t* barrier, unsigned arrivals) {
  if (!is_aligned(barrier, alignof(std::uint64_t)) || !machine_.shared().holds(barrier, sizeof *barrier))
    machine_.fail("barrier_init: the barrier must be 8-byte aligned in shared memory");
  if (arrivals == 0 || arrivals > kMaxBarrierCount)
    machine_.fail("barrier_init: " + std::to_string(arrivals) + " arrivals, not in 1 .. 1048575");
  const std::size_t offset = machine_.shared().offset_of(barrier);
  Barrier& entry = barriers_[offset];
  if (!entry.in_flight.empty()) machine_.fail("barrier_init: the barrier has loads in flight");
  entry = Barrier{arrivals, arrivals, 0, 0, {}};
  *barrier = kBarrierMark ^ offset;
}

AsyncCopies::Barrier& AsyncCopies::barrier_at(std::uint64_t* barrier, const char* what) {
  if (is_aligned(barrier, alignof(std::uint64_t)) && machine_.shared().holds(barrier, sizeof *barrier)) {
    const std::size_t offset = machine_.shared().offset_of(barrier);
    const auto entry = barriers_.find(offset);
    if (entry != barriers_.end() && *barrier == (kBarrierMark ^ offset)) return entry->second;
  }
  machine_.fail(std::string(what) + ": no barrier there, or it was overwritten");
}

void AsyncCopies::arrive_expect_tx(std::uint64_t* barrier, unsigned bytes) {
  Barrier& entry = barrier_at(barrier, "barrier_arrive_expect_tx");
  if (bytes > kMaxBarrierCount)
    machine_.fail("barrier_arrive_expect_tx: " + std::to_string(bytes) + " bytes, not in 0 .. 1048575");
  if (entry.missing == 0)
    machine_.fail("barrier_arrive_expect_tx: all " + std::to_string(entry.arrivals) +
                  " arrivals of the phase have been, and nobody has seen its bytes land");
  entry.expected_bytes += bytes;
  --entry.missing;
  machine_.note_progress();
  settle(entry);
}

bool AsyncCopies::try_wait(std::uint64_t* barrier, unsigned parity, Site site) {
  Barrier& entry = barrier_at(barrier, "barrier_try_wait");
  if (parity > 1) machine_.fail("barrier_try_wait: parity " + std::to_string(parity) + ", not 0 or 1");
  const bool complete = entry.phase != parity || can_land_all(entry);
  if (complete && by_chance(4)) {
    machine_.note_progress();
    machine_.poll_again("barrier_try_wait", site);
    return false;
  }
  if (complete) {
    machine_.note_progress();
    if (entry.phase != parity) return true;
    const std::vector<Load> loads = std::exchange(entry.in_flight, {});
    for (const Load& load : loads) land(entry, load);
    settle(entry);
    return true;
  }
  machine_.poll_again("barrier_try_wait", site);
  return false;
}

bool AsyncCopies::can_land_all(const Barrier& barrier) const {
  if (barrier.missing != 0) return false;
  std::int64_t bytes = 0;
  for (const Load& load : barrier.in_flight) bytes += load.bytes;
  return bytes == barrier.expected_bytes;
}

void AsyncCopies::settle(Barrier& barrier) {
  if (barrier.missing != 0 || barrier.expected_bytes != 0) return;
  barrier.phase ^= 1U;
  barrier.missing = barrier.arrivals;
}

void AsyncCopies::check_copy(const char* what, const void* shared, const void* global, unsigned bytes) const {
  if (bytes == 0 || bytes % kCopyUnit != 0)
    machine_.fail(std::string(what) + ": " + std::to_string(bytes) + " bytes, not a multiple of 16 above 0");
  if (!is_aligned(shared, kCopyUnit) || !is_aligned(global, kCopyUnit))
    machine_.fail(std::string(what) + ": an address is not 16-byte aligned");
  if (!machine_.shared().holds(shared, bytes))
    machine_.fail(std::string(what) + ": the range is not in the block's dynamic shared memory");
}

void AsyncCopies::load(void* shared, const void* global, unsigned bytes, std::uint64_t* barrier) {
  check_copy("bulk_load", shared, global, bytes);
  Barrier& entry = barrier_at(barrier, "bulk_load");
  std::memset(shared, kInFlightPoison, bytes);
  machine_.counters().bulk_load_bytes += bytes;
  machine_.note_progress();
  const Load load{shared, global, bytes};
  if (!by_chance(4)) {
    entry.in_flight.push_back(load);
    return;
  }
  land(entry, load);
  settle(entry);
}

void AsyncCopies::land(Barrier& barrier, const Load& load) {
  std::memcpy(load.shared, load.global, load.bytes);
  barrier.expected_bytes -= load.bytes;
}

bool AsyncCopies::by_chance(std::uint64_t one_in) const {
  return machine_.schedule().order == Order::kRandom && machine_.random_below(one_in) == 0;
}

AsyncCopies::ThreadStores& AsyncCopies::mine() {
  if (stores_.empty()) stores_.resize(threads_);
  return stores_[static_cast<std::size_t>(machine_.thread())];
}

void AsyncCopies::store(void* global, const void* shared, unsigned bytes) {
  check_copy("bulk_store", shared, global, bytes);
  machine_.counters().bulk_store_bytes += bytes;
  mine().open.push_back({global, shared, std::vector<unsigned char>(bytes)});
}

void AsyncCopies::commit_group() {
  ThreadStores& own = mine();
  own.groups.push_back({std::move(own.open), false});
  own.open.clear();
  if (by_chance(4)) read(own.groups.back());
}

void AsyncCopies::read(Group& group) {
  if (group.read) return;
  for (Store& store : group.stores) std::memcpy(store.bytes.data(), store.shared, store.bytes.size());
  group.read = true;
}

void AsyncCopies::write(const Group& group) {
  for (const Store& store : group.stores) std::memcpy(store.global, store.bytes.data(), store.bytes.size());
}

std::size_t AsyncCopies::covered_by_wait(const char* what, int at_most_pending) {
  if (at_most_pending < 0)
    machine_.fail(std::string(what) + ": " + std::to_string(at_most_pending) + " groups, below 0");
  const std::size_t groups = mine().groups.size();
  return groups - std::min(groups, static_cast<std::size_t>(at_most_pending));
}

void AsyncCopies::wait_group_read(int at_most_pending) {
  const std::size_t covered = covered_by_wait("bulk_wait_group_read", at_most_pending);
  for (std::size_t g = 0; g < covered; ++g) read(mine().groups[g]);
}

void AsyncCopies::wait_group(int at_most_pending) {
  const std::size_t covered = covered_by_wait("bulk_wait_group", at_most_pending);
  std::vector<Group>& groups = mine().groups;
  for (std::size_t g = 0; g < covered; ++g) {
    read(groups[g]);
    write(groups[g]);
  }
  groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(covered));
}

void AsyncCopies::start_block(std::size_t threads) {
  threads_ = threads;
  barriers_.clear();
  stores_.clear();
}

void AsyncCopies::end_thread() {
  if (stores_.empty()) return;
  ThreadStores& own = mine();
  if (!own.open.empty()) machine_.fail("exits with bulk stores that it has not committed");
  for (const Group& group : own.groups)
    if (!group.read) machine_.fail("exits without waiting until its bulk stores have read shared memory");
  until_grid_end_.insert(until_grid_end_.end(), std::make_move_iterator(own.groups.begin()),
                         std::make_move_iterator(own.groups.end()));
  own.groups.clear();
}

void AsyncCopies::end_block() {
  for (const auto& [offset, barrier] : barriers_)
    if (!barrier.in_flight.empty())
      machine_.fail("ends with bulk loads in flight at the barrier at byte " + std::to_string(offset));
}

void AsyncCopies::end_grid() {
  for (const Group& group : until_grid_end_) write(group);
  until_grid_end_.clear();
}

void AsyncCopies::abandon() {
  barriers_.clear();
  stores_.clear();
  until_grid_end_.clear();
}

std::string AsyncCopies::description() const {
  std::string text;
  for (const auto& [offset, barrier] : barriers_) {
    std::int64_t in_flight = 0;
    for (const Load& load : barrier.in_flight) in_flight += load.bytes;
    text += "; barrier at byte " + std::to_string(offset) + ": " + std::to_string(barrier.missing) +
            " arrivals missing, " + std::to_string(barrier.expected_bytes) + " bytes expected, " +
            std::to_string(in_flight) + " in flight";
  }
  return text;
}

}  // namespace simt
