#include "sim/base/shared_memo.h"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sim/base/random.h"

namespace goodput::testing {
namespace {

std::int64_t value_of(const MemoKey<2>& key) {
  return 1000 * key[0] + key[1];
}

// Keys 0 .. keys-1 from some threads at once, in orders of their own.
template <typename Ask>
void ask_from_threads(int threads, std::size_t keys, const Ask& ask) {
  std::latch start(threads);
  std::vector<std::jthread> asking;
  for (int thread = 0; thread < threads; ++thread) {
    asking.emplace_back([&, thread] {
      RandomStream random(1, "ask", static_cast<std::uint64_t>(thread));
      start.arrive_and_wait();
      for (std::size_t i = 0; i < 20 * keys; ++i) ask(random.below(keys));
    });
  }
}

}  // namespace

TEST_CASE("shared memo: computes a key once, and what it returned stays where it is") {
  SharedMemo<2, std::int64_t> memo;
  std::vector<const std::int64_t*> first;
  int computed = 0;
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t i = 0; i < 1000; ++i) {  // it grows several times
      const MemoKey<2> key{i % 10, i / 10};
      const std::int64_t& value = memo.at(key, [&] { return ++computed, value_of(key); });
      CHECK(value == value_of(key));
      if (round == 0) first.push_back(&value);
      CHECK(&value == first[static_cast<std::size_t>(i)]);
    }
  }
  CHECK(computed == 1000);
}

TEST_CASE("shared memo: threads that ask for the same keys at once compute each of them once") {
  constexpr std::size_t kKeys = 500;
  SharedMemo<1, std::size_t> memo;
  std::vector<std::atomic<int>> computed(kKeys);
  std::atomic<int> wrong = 0;
  ask_from_threads(4, kKeys, [&](std::size_t key) {
    const std::size_t& value =
        memo.at({static_cast<std::int64_t>(key)}, [&] { return ++computed[key], key; });
    if (value != key) ++wrong;
  });
  CHECK(wrong == 0);
  for (const std::atomic<int>& count : computed) CHECK(count == 1);
}

TEST_CASE("shared memo: who asks for a key that is being computed waits, other keys go on") {
  SharedMemo<1, int> memo;
  std::latch computing(1);
  std::latch other_known(1);
  std::atomic<int> computed = 0;
  {
    const std::jthread slow([&] {
      CHECK(memo.at({1}, [&] {
        computing.count_down();
        other_known.wait();
        return ++computed;
      }) == 1);
    });
    computing.wait();
    const std::jthread waits([&] { CHECK(memo.at({1}, [&] { return ++computed; }) == 1); });
    CHECK(memo.at({2}, [] { return 2; }) == 2);  // would never return, if it waited for the slow one
    other_known.count_down();
  }
  CHECK(computed == 1);
}

TEST_CASE("shared memo: a computation may ask for other keys") {
  SharedMemo<1, int> memo;
  CHECK(memo.at({1}, [&] { return 1 + memo.at({2}, [] { return 2; }); }) == 3);
}

TEST_CASE("shared memo: what an exception ended is computed by the next one who asks") {
  const auto fail = []() -> int { throw std::runtime_error("no"); };
  SharedMemo<1, int> memo;
  CHECK_THROWS_AS((void)memo.at({1}, fail), std::runtime_error);
  CHECK(memo.at({1}, [] { return 7; }) == 7);
  BoundedMemo<int, int> bounded(10);
  CHECK_THROWS_AS((void)bounded.at(1, fail), std::runtime_error);
  CHECK(bounded.at(1, [] { return 7; }) == 7);
}

TEST_CASE("bounded memo: computes a key once, until it holds as many as it may") {
  BoundedMemo<std::string, int> memo(3);
  int computed = 0;
  const auto ask = [&](const std::string& key) { return memo.at(key, [&] { return ++computed; }); };
  CHECK(ask("a") == 1);
  CHECK(ask("b") == 2);
  CHECK(ask("c") == 3);
  CHECK(ask("a") == 1);
  CHECK(ask("d") == 4);  // all others are forgotten
  CHECK(ask("d") == 4);
  CHECK(ask("a") == 5);
}

TEST_CASE("bounded memo: threads get the right values, also while it forgets") {
  constexpr std::size_t kKeys = 50;
  for (const std::size_t most : {std::size_t{1}, std::size_t{7}, kKeys}) {
    BoundedMemo<std::size_t, std::size_t> memo(most);
    std::atomic<int> wrong = 0;
    std::atomic<std::size_t> computed = 0;
    ask_from_threads(4, kKeys, [&](std::size_t key) {
      if (memo.at(key, [&] { return ++computed, 3 * key; }) != 3 * key) ++wrong;
    });
    CHECK(wrong == 0);
    CHECK(computed >= kKeys);
    if (most == kKeys) CHECK(computed == kKeys);  // nothing is forgotten: once, however many wait
  }
}

}  // namespace goodput::testing
