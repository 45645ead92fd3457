#include "tests/simt/machine.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace simt {

namespace {

// Unwinds the threads of a block that another one's error ended. Of no standard type: kernels do not catch
// it.
struct Abandoned {};

constexpr unsigned kAllLanes = 0xffffffffU;

// Polls in a row, a thread, with nothing done in between: random orders may poll one thread often.
constexpr int kFruitlessPolls = 64;

std::string text_of(uint3 index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) +
         ")";
}

std::string text_of(Site site) {
  return std::string("(") + site.file + ":" + std::to_string(site.line) + ")";
}

int lowest_lane(unsigned lanes) {
  return __builtin_ctz(lanes);
}

uint3 index_in(dim3 extent, std::uint64_t position) {
  const std::uint64_t rows = position / extent.x;
  return {static_cast<unsigned>(position % extent.x), static_cast<unsigned>(rows % extent.y),
          static_cast<unsigned>(rows / extent.y)};
}

std::uint64_t volume_of(dim3 extent) {
  return std::uint64_t{extent.x} * extent.y * extent.z;
}

bool is_same(Site a, Site b) {
  return a.line == b.line && (a.file == b.file || std::string_view(a.file) == b.file);
}

}  // namespace

SpecialRegisters special_registers;

const char* name_of(BlockOp op) {
  constexpr std::array<const char*, 4> kNames = {"__syncthreads", "__syncthreads_or", "__syncthreads_and",
                                                 "__syncthreads_count"};
  return kNames[static_cast<std::size_t>(op)];
}

const char* name_of(WarpOp op) {
  constexpr std::array<const char*, 15> kNames = {
      "__syncwarp",        "__shfl_sync",       "__shfl_up_sync",   "__shfl_down_sync",  "__shfl_xor_sync",
      "__ballot_sync",     "__any_sync",        "__all_sync",       "__match_any_sync",  "__reduce_min_sync",
      "__reduce_max_sync", "__reduce_add_sync", "__reduce_or_sync", "__reduce_and_sync", "__reduce_xor_sync"};
  return kNames[static_cast<std::size_t>(op)];
}

Machine::Machine() : fibers_([this] { run_threads(); }), copies_(*this) {}

Machine& machine() {
  static Machine the_machine;
  return the_machine;
}

void set_schedule(Schedule schedule) {
  machine().set_schedule(schedule);
}

Counters counters() {
  return machine().counters();
}

void Machine::set_schedule(Schedule schedule) {
  schedule_ = schedule;
  generator_.seed(schedule.seed);
}

void Machine::run(const LaunchShape& shape, const std::string& kernel, const std::function<void()>& body) {
  kernel_ = kernel;
  body_ = &body;
  ++counters_.kernels;
  const std::uint64_t blocks = volume_of(shape.grid);
  if (schedule_.order == Order::kRandom) {
    std::vector<std::uint64_t> order(blocks);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::shuffle(order.begin(), order.end(), generator_);
    for (const std::uint64_t block : order) start_block(shape, block);
  } else {
    const bool descends = schedule_.order == Order::kDescending;
    for (std::uint64_t b = 0; b < blocks; ++b) start_block(shape, descends ? blocks - 1 - b : b);
  }
  copies_.end_grid();
}

void Machine::start_block(const LaunchShape& shape, std::uint64_t block) {
  const std::size_t threads = volume_of(shape.block);
  special_registers = {{}, index_in(shape.grid, block), shape.block, shape.grid};
  if (threads_.size() != threads) {
    threads_.assign(threads, Thread{});
    warps_.assign(threads / kWarpLanes, Warp{});
  }
  ready_ = polling_ = ThreadSet{};
  uint3 index{};
  for (std::size_t t = 0; t < threads; ++t) {
    threads_[t].index = index;
    threads_[t].state = Thread::State::kUnstarted;
    threads_[t].waits_at = nullptr;
    ready_.insert(static_cast<int>(t));
    if (++index.x < shape.block.x) continue;
    index.x = 0;
    if (++index.y < shape.block.y) continue;
    index.y = 0;
    ++index.z;
  }
  for (Warp& warp : warps_) warp.arrived = warp.at_block_barrier = warp.exited = 0;
  barrier_.arrived = 0;
  exited_ = fruitless_polls_ = 0;
  shared_.start_block(shape.shared_bytes);
  copies_.start_block(threads);
  try {
    run_block();
  } catch (...) {
    copies_.abandon();
    shared_.end_block();
    throw;
  }
  shared_.end_block();
}

void Machine::run_block() {
  choose_next();
  while (next_ >= 0) {
    const Thread& chosen = threads_[static_cast<std::size_t>(next_)];
    const int fiber = chosen.state == Thread::State::kStarted ? chosen.fiber : fibers_.take_idle();
    make_current(next_);
    fibers_.resume(fiber);
    if (error_ != nullptr) {
      abandon_block();
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }
  current_ = -1;
  copies_.end_block();
  if (!shared_.intact()) fail("wrote outside of its dynamic shared memory");
}

void Machine::run_threads() {
  for (;;) {
    run_thread();
    if (error_ != nullptr || abandoning_) return;
    choose_next();
    if (next_ < 0 || threads_[static_cast<std::size_t>(next_)].state == Thread::State::kStarted) return;
    make_current(next_);
  }
}

void Machine::run_thread() {
  current().state = Thread::State::kStarted;
  current().fiber = fibers_.running();
  try {
    (*body_)();
    check_exit(warp());
    copies_.end_thread();
  } catch (const Abandoned&) {
    // Another thread's error is the one that is reported.
  } catch (...) {
    error_ = std::current_exception();
  }
  current().state = Thread::State::kExited;
  warp().exited |= 1U << lane();
  ++exited_;
  note_progress();
}

void Machine::abandon_block() {
  abandoning_ = true;
  for (int t = 0; t < threads_in_block(); ++t) {
    const Thread& thread = threads_[static_cast<std::size_t>(t)];
    if (thread.state != Thread::State::kStarted) continue;
    make_current(t);
    fibers_.resume(thread.fiber);
  }
  abandoning_ = false;
}

void Machine::choose_next() {
  if (ready_.empty()) std::swap(ready_, polling_);
  next_ = -1;
  if (ready_.empty()) return;
  switch (schedule_.order) {
    case Order::kAscending:
      next_ = ready_.lowest();
      break;
    case Order::kDescending:
      next_ = ready_.highest();
      break;
    case Order::kRandom:
      next_ = ready_.nth(static_cast<int>(random_below(static_cast<std::uint64_t>(ready_.size()))));
      break;
  }
  ready_.erase(next_);
}

void Machine::make_current(int thread) {
  current_ = thread;
  special_registers.thread_index = threads_[static_cast<std::size_t>(thread)].index;
}

void Machine::wait_for_turn(const char* what, Site site) {
  Thread& self = current();
  self.waits_at = what;
  self.site = site;
  choose_next();
  if (next_ != current_) fibers_.suspend();
  if (abandoning_) throw Abandoned{};
  self.waits_at = nullptr;
}

int Machine::meet_block(BlockOp op, int predicate, Site site) {
  Warp& mine = warp();
  if (mine.arrived != 0)
    fail_divergent(std::string("calls ") + name_of(op) + " " + text_of(site), mine, mine.arrived);
  if (exited_ != 0)
    fail(std::string("calls ") + name_of(op) + " " + text_of(site) +
         " after a thread of the block has exited");
  const unsigned phase = barrier_.phase;
  if (barrier_.arrived == 0) {
    barrier_.op = op;
    barrier_.counts[phase] = 0;
  } else if (barrier_.op != op) {
    fail(std::string("calls ") + name_of(op) + " " + text_of(site) + " while others wait at " +
         name_of(barrier_.op));
  }
  note_progress();
  barrier_.counts[phase] += predicate != 0 ? 1 : 0;
  if (++barrier_.arrived < threads_in_block()) {
    mine.at_block_barrier |= 1U << lane();
  } else {
    for (Warp& other : warps_) other.at_block_barrier = 0;
    for (int t = 0; t < threads_in_block(); ++t) ready_.insert(t);
    barrier_.arrived = 0;
    barrier_.phase ^= 1U;
  }
  wait_for_turn(name_of(op), site);
  return barrier_.counts[phase];
}

const WarpExchange& Machine::meet_warp(WarpOp op, unsigned mask, std::uint64_t value, Site site) {
  if (mask != kAllLanes)
    fail(std::string(name_of(op)) + " " + text_of(site) +
         " names some lanes only; the mask must be 0xffffffff");
  Warp& mine = warp();
  check_converged(mine, op, site);
  WarpExchange& exchange = mine.exchanges[mine.phase];
  if (mine.arrived == 0) {
    mine.op = op;
    exchange.votes = 0;
  }
  note_progress();
  const unsigned bit = 1U << lane();
  exchange.values[static_cast<std::size_t>(lane())] = value;
  exchange.votes |= value != 0 ? bit : 0;
  mine.arrived |= bit;
  if (mine.arrived == kAllLanes) {
    const int first = current_ - lane();
    for (int t = first; t < first + kWarpLanes; ++t) ready_.insert(t);
    mine.arrived = 0;
    mine.phase ^= 1U;
  }
  wait_for_turn(name_of(op), site);
  return exchange;
}

void Machine::poll_again(const char* what, Site site) {
  if (++fruitless_polls_ > kFruitlessPolls * threads_in_block()) {
    current().waits_at = what;
    current().site = site;
    fail_deadlocked();
  }
  polling_.insert(current_);
  wait_for_turn(what, site);
}

void Machine::check_converged(const Warp& warp, WarpOp op, Site site) const {
  const unsigned elsewhere = warp.exited | warp.at_block_barrier;
  if (elsewhere == 0 && warp.arrived == 0) return;
  const auto fail_while = [&](unsigned others) {
    fail_divergent(std::string("calls ") + name_of(op) + " " + text_of(site), warp, others);
  };
  if (elsewhere != 0) fail_while(elsewhere);
  const Thread& other = threads_[static_cast<std::size_t>(current_ - lane() + lowest_lane(warp.arrived))];
  if (warp.op != op || (op != WarpOp::kSync && !is_same(other.site, site))) fail_while(warp.arrived);
}

void Machine::check_exit(const Warp& warp) const {
  if (warp.arrived != 0) fail_divergent("exits", warp, warp.arrived);
  if (barrier_.arrived != 0) fail(std::string("exits while others wait at ") + name_of(barrier_.op));
}

std::string Machine::wait_of(int thread) const {
  const Thread& at = threads_[static_cast<std::size_t>(thread)];
  return std::string(at.waits_at) + " " + text_of(at.site);
}

void Machine::fail_divergent(const std::string& does, const Warp& warp, unsigned others) const {
  const int other = lowest_lane(others);
  const bool exited = (warp.exited >> other & 1U) != 0;
  fail(does + " while lane " + std::to_string(other) + " of its warp " +
       (exited ? "has exited" : "waits at " + wait_of(current_ - lane() + other)) + ": divergent");
}

void Machine::fail(const std::string& what) const {
  std::string place = "simt: kernel";
  if (!kernel_.empty()) place += " " + kernel_;
  place += ", block " + text_of(special_registers.block_index);
  if (current_ >= 0)
    place += ", warp " + std::to_string(current_ / kWarpLanes) + ", lane " + std::to_string(lane());
  throw std::runtime_error(place + ": " + what);
}

void Machine::fail_deadlocked() const {
  std::string waits = "nothing can go on any more: deadlock";
  for (int w = 0; w * kWarpLanes < threads_in_block(); ++w) {
    std::vector<std::pair<std::string, int>> places;  // and how many lanes wait there
    for (int t = w * kWarpLanes; t < (w + 1) * kWarpLanes; ++t) {
      const std::string place =
          threads_[static_cast<std::size_t>(t)].waits_at == nullptr ? std::string("the end") : wait_of(t);
      if (places.empty() || places.back().first != place) places.emplace_back(place, 0);
      ++places.back().second;
    }
    waits += "; warp " + std::to_string(w) + ":";
    for (const auto& [place, lanes] : places) waits += " " + std::to_string(lanes) + " at " + place + ",";
    waits.pop_back();
  }
  fail(waits + copies_.description());
}

}  // namespace simt
