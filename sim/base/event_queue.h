// The pending events of a discrete-event simulation, handed out by (time, priority, order of pushing).
//
// `Priority` is an enum with a reason on each line: it decides what happens first among events of one moment.
// Equals leave in the order they came, so a simulation is the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/units.h"

namespace goodput {

template <typename Priority, typename Payload>
class EventQueue {
 public:
  struct Event {
    SimTime time;
    Priority priority;
    Payload payload;
  };

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

  // REQUIRES: not empty.
  [[nodiscard]] SimTime next_time() const { return heap_.front().time; }

  void push(SimTime time, Priority priority, const Payload& payload) {
    const Entry entry{time, static_cast<std::uint64_t>(priority) << kSequenceBits | sequence_++, payload};
    heap_.push_back(entry);
    sift_up(heap_.size() - 1, entry);
  }

  Event pop() {
    GOODPUT_CHECK(!heap_.empty(), "pop() called on an empty event queue");
    const Entry first = heap_.front();
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_up(sink_hole(), last);
    return {first.time, static_cast<Priority>(first.order >> kSequenceBits), first.payload};
  }

  // Forgets all events and starts counting anew; keeps the memory.
  void clear() {
    heap_.clear();
    sequence_ = 0;
  }

 private:
  static constexpr int kSequenceBits = 56;  // the priority is in the eight above
  static constexpr std::size_t kArity =
      4;  // half the levels of a binary heap, and siblings share cache lines

  struct Entry {
    SimTime time;
    std::uint64_t order;
    Payload payload;

    // One comparison of 128 bits, without branches: which of two events is first is anyone's guess.
    bool operator<(const Entry& other) const { return key() < other.key(); }
    [[nodiscard]] unsigned __int128 key() const {
      constexpr std::uint64_t kSign = std::uint64_t{1} << 63;  // negative times before positive ones
      const auto ticks = static_cast<std::uint64_t>(time.time_since_epoch().count());
      return static_cast<unsigned __int128>(ticks ^ kSign) << 64 | order;
    }
  };

  // Puts `entry` in the place of the hole or above it.
  void sift_up(std::size_t hole, const Entry& entry) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kArity;
      if (!(entry < heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = entry;
  }

  // Moves the hole at the top down to a leaf: the last entry, which is to fill it, belongs near there.
  std::size_t sink_hole() {
    std::size_t hole = 0;
    for (std::size_t child = 1; child < heap_.size(); child = kArity * hole + 1) {
      const std::size_t first = first_sibling(child);
      heap_[hole] = heap_[first];
      hole = first;
    }
    return hole;
  }

  // Of the up to four entries from `child` on; as a tournament, because the first two games need not wait.
  [[nodiscard]] std::size_t first_sibling(std::size_t child) const {
    if (child + kArity <= heap_.size()) {
      return earlier(earlier(child, child + 1), earlier(child + 2, child + 3));
    }
    std::size_t first = child;
    for (std::size_t other = child + 1; other < heap_.size(); ++other) first = earlier(first, other);
    return first;
  }
  [[nodiscard]] std::size_t earlier(std::size_t a, std::size_t b) const {
    return a + (b - a) * static_cast<std::size_t>(heap_[b] < heap_[a]);  // no branch here either
  }

  std::vector<Entry> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace goodput
