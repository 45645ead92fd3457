// Times of emulated kernels mean nothing, but none is longer than the test that took them.
#include "gpu/calibrate/point_measurer.h"

#include <doctest/doctest.h>

#include "gpu/bench/measure.h"
#include "gpu/calibrate/empty_kernel.h"
#include "gpu/calibrate/launch_sweep.h"
#include "gpu/calibrate/stopping_rule.h"

namespace goodput::gpu::calibrate {
namespace {

// What a call takes, in us.
template <class Call>
double us_of(const Call& call) {
  const bench::Clock clock = bench::steady_clock();
  const double begin_s = clock();
  call();
  return 1e6 * (clock() - begin_s);
}

// A replay is of 2 runs at least, and two of three samples are no shorter than their median: 2 x 2 times of a
// run at least. Empty kernels take a few us: graphs of them have a hundred runs.
TEST_CASE("point measurer: a time is of one run, not of the graph that was replayed") {
  PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  int runs = 0;
  Visit visit;
  const double all_us = us_of([&] {
    visit = measurer.measure({[&](int, cudaStream_t stream) {
                                ++runs;
                                launch_empty(stream);
                              },
                              1, 0});
  });
  const int of_graph = runs - 2;  // one alone, and one that is timed
  REQUIRE(of_graph >= 2);
  CHECK(visit.us.count == 3);
  CHECK(visit.us.median * 2 * of_graph <= all_us);
}

TEST_CASE("point measurer: what takes longer than a replay runs alone, and inputs take turns") {
  PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  constexpr std::size_t kBytes = std::size_t{64} << 20U;  // which no host sets in a millisecond
  DeviceBuffer<char> memory(kBytes);
  std::vector<int> sets;
  static_cast<void>(measurer.measure({[&](int set, cudaStream_t stream) {
                                        sets.push_back(set);
                                        GOODPUT_CUDA(cudaMemsetAsync(memory.data(), set, kBytes, stream));
                                      },
                                      3, 0}));
  // One alone and three that are timed, some to warm up, and three samples with one before them.
  CHECK(sets.size() >= 1 + 3 + 1 + 4);
  for (std::size_t i = 0; i < sets.size(); ++i) CHECK(sets[i] == static_cast<int>(i % 3));
}

TEST_CASE("point measurer: a visit that the deadline cut short is none") {
  double now_s = 0;
  bench::StoppingRule rule = rule_for(Sizes::kQuick);
  rule.least = rule.most = rule.few = 20;
  PointMeasurer measurer(rule, {[&] { return now_s; }, 1});
  const auto visit = [&](double sample_s) {
    return measurer.measure_by({[&](int count) {
                                  now_s += count * sample_s;
                                  return std::vector<double>(static_cast<std::size_t>(count), 5.0);
                                },
                                [](int) { return 1.0; }, [] { return std::optional<double>(1980); }});
  };
  CHECK(visit(0.01).us.count == 20);
  CHECK(visit(0.01).sm_mhz == 1980);
  now_s = 0;
  CHECK_THROWS_AS(static_cast<void>(visit(0.1)), bench::DeadlinePassed);  // after ten of twenty
}

// A sample is 500 launches; two of three samples are no shorter than their median.
TEST_CASE("launch sweep: a gap is the period of one launch, and a graph's kernels are no launches") {
  PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  const Sweep sweep = launch_sweep();
  REQUIRE(sweep.points.size() == 2);
  CHECK(text_of(sweep.points[0].key) == "empty_kernel");
  CHECK(sweep.points[0].visit(measurer, Checking::kYes).source == "empty kernels in a graph");
  CHECK(text_of(sweep.points[1].key) == "launch_gap");
  Visit gap;
  const double all_us = us_of([&] { gap = sweep.points[1].visit(measurer, Checking::kYes); });
  CHECK(gap.source == "empty kernels, one launch after another");
  CHECK(gap.us.median * 2 * 500 <= all_us);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
