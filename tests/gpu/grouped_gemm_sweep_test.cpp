#include "gpu/calibrate/grouped_gemm_sweep.h"

#include <doctest/doctest.h>

#include "gpu/calibrate/gemm_families.h"
#include "gpu/calibrate/matmul.h"
#include "sim/base/apportion.h"
#include "tests/gpu/sweep_case.h"

namespace goodput::gpu::calibrate {
namespace {

TEST_CASE("grouped gemm sweep: equal rows for 1 to 32 experts, and the loads of a routing model") {
  const Sweep sweep = grouped_gemm_sweep(Sizes::kFull);
  check_names_differ(sweep);
  // 4 families, 5 numbers of rows, 5 numbers of experts and 2 with loads.
  CHECK(sweep.points.size() == 4 * 5 * (5 + 2));
  CHECK(text_of(sweep.points[0].key) == "grouped_gemm n=28672 k=4096 experts=1 dtype=bf16 m=256");
  CHECK(text_of(sweep.points[6].key) ==
        "grouped_gemm n=28672 k=4096 experts=32 dtype=bf16 loads=smartmoe-like m=256");
}

TEST_CASE("grouped gemm sweep: two rounds take 50 s at most") {
  const double seconds = two_rounds_s(grouped_gemm_sweep(Sizes::kFull));
  MESSAGE(seconds, " s");
  CHECK(seconds <= 50);
  CHECK(seconds > 20);
}

TEST_CASE("grouped gemm sweep: what is small is right, experts without rows too") {
  const Sweep sweep = grouped_gemm_sweep(Sizes::kQuick);
  CHECK(rows_by_load({kSmartmoeLoads32, kSmartmoeLoads32 + 32}, 64)[1] == 0);  // of the last point
  visit_all(sweep);
}

TEST_CASE("grouped gemm sweep: what can be captured runs as a graph, what cannot by itself") {
  const Stream stream;
  DeviceBuffer<unsigned char> byte(1);
  const auto run = [&](cudaStream_t queue) { GOODPUT_CUDA(cudaMemsetAsync(byte.data(), 7, 1, queue)); };
  CHECK(run_as_graph(run, stream));
  CHECK(download(byte.data(), 1)[0] == 7);
  GOODPUT_CUDA(cudaMemset(byte.data(), 0, 1));
  int runs = 0;
  const auto waits = [&](cudaStream_t queue) {
    ++runs;
    GOODPUT_CUDA(cudaStreamSynchronize(queue));  // nobody may wait for a stream that captures
    run(queue);
  };
  CHECK_FALSE(run_as_graph(waits, stream));
  CHECK(runs == 2);  // into the capture that failed, then alone
  CHECK(download(byte.data(), 1)[0] == 7);
  CHECK_THROWS_AS(static_cast<void>(run_as_graph([](cudaStream_t) { throw MatmulError("none"); }, stream)),
                  MatmulError);
}

TEST_CASE("grouped gemm sweep: rows follow loads by largest remainder, as the simulator's tokens do") {
  const std::vector<int> loads(kSmartmoeLoads8, kSmartmoeLoads8 + 8);
  const std::vector<std::int64_t> weights(loads.begin(), loads.end());
  for (const std::int64_t rows : {1, 7, 256, 65'536})
    CHECK(rows_by_load(loads, rows) == apportion(weights, rows));
}

}  // namespace
}  // namespace goodput::gpu::calibrate
