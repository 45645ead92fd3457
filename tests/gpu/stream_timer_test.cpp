#include "gpu/bench/stream_timer.h"

#include <doctest/doctest.h>

namespace goodput::gpu::bench {
namespace {

// A replay is to take 1000 us: 100 runs of 10 us, 34 of 30 us, which are 3 times 16 inputs.
TEST_CASE(
    "bench stream timer: a graph has runs of about a millisecond, of every input as many, and two at least") {
  CHECK(runs_of_graph(10, 1) == 100);
  CHECK(runs_of_graph(30, 1) == 34);
  CHECK(runs_of_graph(30, 16) == 48);
  CHECK(runs_of_graph(999, 1) == 2);
  CHECK(runs_of_graph(999, 16) == 16);
  CHECK(runs_of_graph(1000, 1) == 2);
  CHECK(runs_of_graph(0, 1) == 100);  // shorter than events resolve: no more than so many
  CHECK(runs_of_graph(1, 16) == 112);
}

TEST_CASE("bench stream timer: a batch is what it says, and before timed runs goes one untimed") {
  const StreamTimer timer;
  int runs = 0;
  CHECK(timer.time_batch(3, [&] { ++runs; }) >= 0);
  CHECK(runs == 3);
  const std::vector<double> us = timer.time_runs(4, [&] { ++runs; });
  CHECK(us.size() == 4);
  CHECK(runs == 3 + 5);
}

}  // namespace
}  // namespace goodput::gpu::bench
