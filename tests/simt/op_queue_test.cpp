// The queue of operations: steps that wait let others run.
#include <doctest/doctest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>

#include "tests/simt/kernel_case.h"
#include "tests/simt/op_queue.h"

namespace simt {
namespace {

// Notes its name at every step, of which the last one finishes.
Work noting(std::string& log, char name, int steps) {
  return [&log, name, left = steps]() mutable {
    log += name;
    return Step{--left <= 0, {}};
  };
}

TEST_CASE("simt: an operation that waits lets all others run before it goes on") {
  OpQueue queue;
  std::string log;
  const OpId waiting = queue.add(1, {}, noting(log, 'a', 3));
  queue.add(1, {waiting}, noting(log, 'b', 1));
  const OpId other = queue.add(2, {}, noting(log, 'x', 1));
  queue.add(2, {other}, noting(log, 'y', 1));
  queue.run_all();
  CHECK(log == "axyaab");
  CHECK_FALSE(queue.run_one());
}

TEST_CASE("simt: every order of the schedule ends, with what waits before what depends on it") {
  for (const Schedule schedule : schedules()) {
    const ScheduleScope scope(schedule);
    OpQueue queue;
    std::string log;
    const OpId first = queue.add(3, {}, noting(log, 'a', 2));
    const OpId second = queue.add(1, {}, noting(log, 'b', 2));
    queue.add(2, {first, second}, noting(log, 'c', 2));
    queue.run_all();
    CHECK(log.substr(4) == "cc");
  }
}

TEST_CASE("simt: when all operations wait the queue waits for their sockets, a millisecond at most") {
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  OpQueue queue;
  queue.add(1, {}, [&] { return Step{false, {{ends[0], POLLIN, 0}}}; });
  const auto elapsed_of = [&](int steps) {
    const auto start = std::chrono::steady_clock::now();
    for (int step = 0; step < steps; ++step) queue.run_one();
    return std::chrono::steady_clock::now() - start;
  };
  queue.run_one();
  CHECK(elapsed_of(5) >= std::chrono::milliseconds(5));  // nothing comes
  REQUIRE(write(ends[1], "x", 1) == 1);
  CHECK(elapsed_of(2000) < std::chrono::milliseconds(2000));  // something is there
  for (const int end : ends) close(end);
}

TEST_CASE("simt: an operation that throws takes those that wait with it") {
  OpQueue queue;
  std::string log;
  const OpId waiting = queue.add(1, {}, noting(log, 'a', 9));
  queue.add(2, {}, []() -> Step { throw std::runtime_error("failed"); });
  CHECK(queue.run_one());
  CHECK(error_of([&] { queue.run_one(); }) == "failed");
  CHECK_FALSE(queue.pending(waiting));
  CHECK_FALSE(queue.run_one());
  CHECK(log == "a");
}

}  // namespace
}  // namespace simt
