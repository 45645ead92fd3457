#include "sim/base/event_queue.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "sim/base/random.h"

namespace goodput {
namespace {

enum class Order : std::uint8_t {
  kFirst,   // before the others
  kSecond,  // after it
};
using Queue = EventQueue<Order, int>;

SimTime at(std::int64_t nanoseconds) {
  return SimTime{SimDuration{nanoseconds}};
}

std::vector<int> drain(Queue& queue) {
  std::vector<int> payloads;
  while (!queue.empty()) payloads.push_back(queue.pop().payload);
  return payloads;
}

}  // namespace

TEST_CASE("event queue: events leave by time, then priority, then in the order they came") {
  Queue queue;
  queue.push(at(7), Order::kFirst, 1);
  queue.push(at(5), Order::kSecond, 2);
  queue.push(at(5), Order::kSecond, 3);
  queue.push(at(5), Order::kFirst, 4);
  queue.push(at(5), Order::kSecond, 5);
  queue.push(at(-1), Order::kSecond, 6);
  CHECK(queue.size() == 6);
  CHECK(queue.next_time() == at(-1));
  CHECK(drain(queue) == std::vector<int>{6, 4, 2, 3, 5, 1});
}

TEST_CASE("event queue: an event keeps its time and priority") {
  Queue queue;
  queue.push(SimTime::max(), Order::kSecond, 8);
  const Queue::Event event = queue.pop();
  CHECK(event.time == SimTime::max());
  CHECK(event.priority == Order::kSecond);
  CHECK(event.payload == 8);
}

TEST_CASE("event queue: any mix of pushing and popping is a stable sort of what is pending") {
  struct Pending {
    std::int64_t time;
    Order priority;
    int payload;
  };
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "event queue");
    Queue queue;
    std::vector<Pending> pending;  // sorted
    for (int step = 0; step < 300; ++step) {
      if (!pending.empty() && random.uniform() < 0.45) {
        const Queue::Event event = queue.pop();
        REQUIRE(event.time == at(pending.front().time));
        REQUIRE(event.priority == pending.front().priority);
        REQUIRE(event.payload == pending.front().payload);
        pending.erase(pending.begin());
        continue;
      }
      const Pending added{static_cast<std::int64_t>(random.below(20)), static_cast<Order>(random.below(2)),
                          step};
      queue.push(at(added.time), added.priority, added.payload);
      pending.insert(std::upper_bound(pending.begin(), pending.end(), added,
                                      [](const Pending& a, const Pending& b) {
                                        return std::pair(a.time, a.priority) < std::pair(b.time, b.priority);
                                      }),
                     added);
    }
    REQUIRE(queue.size() == pending.size());
  }
}

TEST_CASE("event queue: cleared, it is as new") {
  Queue queue;
  queue.push(at(1), Order::kFirst, 1);
  queue.clear();
  CHECK(queue.empty());
  queue.push(at(3), Order::kFirst, 2);
  queue.push(at(3), Order::kFirst, 3);
  CHECK(drain(queue) == std::vector<int>{2, 3});
}

TEST_CASE("event queue: nothing can be taken from an empty one") {
  Queue queue;
  CHECK_THROWS_AS((void)queue.pop(), InternalError);
}

}  // namespace goodput
