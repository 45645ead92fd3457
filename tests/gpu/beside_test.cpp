#include "gpu/calibrate/beside.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "gpu/calibrate/empty_kernel.h"
#include "gpu/calibrate/gemm_load.h"
#include "gpu/calibrate/stopping_rule.h"
#include "tests/simt/machine.h"

namespace goodput::gpu::calibrate {
namespace {

PointMeasurer quick_measurer() {
  return {rule_for(Sizes::kQuick), {bench::steady_clock(), 1e18}};
}

TEST_CASE("beside: what runs beside is queued first, and as often as what is measured may need") {
  PointMeasurer measurer = quick_measurer();
  int beside = 0;
  int measured = 0;
  int beside_at_first = 0;
  const Visit visit = measure_beside(
      [&](cudaStream_t stream) {
        if (measured++ == 0) beside_at_first = beside;
        launch_empty(stream);
      },
      100,
      {[&](cudaStream_t stream) {
         ++beside;
         launch_empty(stream);
       },
       10},
      measurer);
  CHECK(visit.us.count == 3);
  // One run is timed to warm up, one goes before it untimed: 3 x (1 + 1) x 100 us of 10 us each, 2 and 1 that
  // is waited for.
  CHECK(beside_at_first == 60 + 2 + 1);
  // Then three samples with one before them: 3 x 4 x 10 and 3.
  CHECK(beside == 2 * 63 + 123);
  CHECK(measured == 2 * 2 + 4);
}

TEST_CASE("beside: what would take too many runs of the other is refused") {
  PointMeasurer measurer = quick_measurer();
  CHECK_THROWS_WITH_AS(static_cast<void>(measure_beside(launch_empty, 1e9, {launch_empty, 0}, measurer)),
                       "what was to run beside it always ended first", std::runtime_error);
}

TEST_CASE("beside: a product to run beside others knows its own time") {
  const Stream stream;
  GemmLoad load(Sizes::kQuick, stream);
  CHECK(load.run_us() > 0);
  CHECK(load.background().run_us == load.run_us());
  const std::uint64_t kernels = simt::counters().kernels;
  load.background().run(stream.get());
  stream.synchronize();
  CHECK(simt::counters().kernels == kernels + 1);
  CHECK(text_of(gemm_load_shape(Sizes::kFull)) == "bf16 m=8192 n=8192 k=8192");
}

}  // namespace
}  // namespace goodput::gpu::calibrate
