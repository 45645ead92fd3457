#include "gpu/calibrate/sustained_sweep.h"

#include <doctest/doctest.h>

#include "tests/gpu/sweep_case.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr SustainedRule kShort{0.03, 0.01, 2};

TEST_CASE("sustained sweep: the six largest products, in 40 s for two rounds") {
  const Sweep sweep = sustained_sweep(Sizes::kFull, {});
  check_names_differ(sweep);
  CHECK(sweep.points.size() == 6);
  CHECK(text_of(sweep.points[0].key) == "gemm n=129280 k=7168 dtype=bf16 sustained m=16384");
  CHECK(text_of(sweep.points[5].key) == "gemm n=32000 k=4096 dtype=bf16 sustained m=16384");
  CHECK(two_rounds_s(sweep) <= 40);
  CHECK(two_rounds_s(sweep) > 36);
}

TEST_CASE("sustained sweep: a small one is right, and has the power that was read") {
  int readings = 0;
  const Sweep sweep = sustained_sweep(Sizes::kQuick, [&] {
    ++readings;
    return std::optional<double>(500);
  });
  visit_all(sweep);
  CHECK(readings > 0);
  PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  CHECK(sweep.points[0].visit(measurer, Checking::kNo).power_w == 500.0);
  CHECK_FALSE(sustained_sweep(Sizes::kQuick, {}).points[0].visit(measurer, Checking::kNo).power_w);
}

TEST_CASE("sustained sweep: power is read where times count, and is their mean") {
  const PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  DeviceBuffer<int> word(1);
  const auto queue = [&] { GOODPUT_CUDA(cudaMemsetAsync(word.data(), 0, 4, measurer.stream().get())); };
  double next = 0;
  const SustainedTimes times = run_sustained(
      queue, kShort, [&] { return std::optional<double>(next++); }, measurer);
  // 0, 1, ... n - 1
  CHECK(next == static_cast<double>(times.us.size()));
  CHECK(*times.power_w == doctest::Approx((next - 1) / 2));
  const SustainedTimes unknown = run_sustained(
      queue, kShort, [] { return std::optional<double>(); }, measurer);
  CHECK_FALSE(unknown.power_w);
  CHECK_FALSE(unknown.us.empty());
}

TEST_CASE("sustained sweep: batches that begin before the counted time do not count; times are of one run") {
  const PointMeasurer measurer(rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18});
  DeviceBuffer<int> word(1);
  int queued = 0;
  const auto queue = [&] {
    ++queued;
    GOODPUT_CUDA(cudaMemsetAsync(word.data(), 0, 4, measurer.stream().get()));
  };
  // Nothing counts but the batch that is under way when time is up, or the next one.
  const SustainedTimes times = run_sustained(queue, {0.02, 0, 2}, {}, measurer);
  REQUIRE(times.us.size() == 1);
  // All together took about 20 ms: a run that were its batch would take hundreds of times that.
  CHECK(times.us[0] * queued < 20 * 20e3);
}

TEST_CASE("sustained sweep: a deadline ends it between two batches, with nothing queued") {
  int looks = 0;
  const bench::Deadline soon{[&] { return static_cast<double>(looks++); }, 3};
  const PointMeasurer measurer(rule_for(Sizes::kQuick), soon);
  DeviceBuffer<int> word(1);
  int queued = 0;
  const auto queue = [&] {
    ++queued;
    GOODPUT_CUDA(cudaMemsetAsync(word.data(), 0, 4, measurer.stream().get()));
  };
  CHECK_THROWS_AS(static_cast<void>(run_sustained(queue, {1e6, 1, 1e-3}, {}, measurer)),
                  bench::DeadlinePassed);
  CHECK(queued >= 3);
  CHECK(cudaStreamQuery(measurer.stream().get()) == cudaSuccess);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
