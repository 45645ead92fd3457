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

// A run takes about 100 us, a launch of the other 16 x 10 us. To warm up, one run is timed twice, with one
// before each: 1.5 x 2 runs are two launches; then three samples with one run before them: four. A launch
// more of both, and one that is waited for: 2 x 4 + 6 launches and 2 x 2 + 4 runs; and three looks at the
// clock.
TEST_CASE("beside: what runs beside is launched first, as often as what is measured may need") {
  PointMeasurer measurer = quick_measurer();
  const std::uint64_t kernels = simt::counters().kernels;
  int beside = 0;
  int measured = 0;
  std::uint64_t before_first = 0;
  const Visit visit = measure_beside(
      [&](cudaStream_t stream) {
        if (measured++ == 0) before_first = simt::counters().kernels - kernels;
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
  CHECK(beside == 16);  // captured once
  CHECK(before_first == 16);
  CHECK(measured == 2 * 2 + 4);
  CHECK(simt::counters().kernels == kernels + 16 * (2 * 4 + 6) + 8 + 3);
}

TEST_CASE("beside: what would take too many runs of the other is refused") {
  PointMeasurer measurer = quick_measurer();
  CHECK_THROWS_WITH_AS(static_cast<void>(measure_beside(launch_empty, 1e9, {launch_empty, 0}, measurer)),
                       "the background work always ended before the timed work", std::runtime_error);
}

// 4 GiB of pageable memory at 8 GB/s take 537 ms. Six copies and half as much again are 4.8 s of products: at
// 1.57 ms each (H100) 3079, at 8 times as long 385, which a stream takes without making the host wait.
TEST_CASE("beside: a product beside something that takes long lasts in proportion") {
  CHECK(gemm_load_times(100) == 1);
  CHECK(gemm_load_times(67e3) == 1);
  CHECK(gemm_load_times(134e3) == 2);
  CHECK(gemm_load_times(537e3) == 8);
  CHECK(gemm_load_times(1e9) == 16);
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
  CHECK(text_of(gemm_load_shape(Sizes::kFull, 8)) == "bf16 m=8192 n=8192 k=65536");
}

}  // namespace
}  // namespace goodput::gpu::calibrate
