#include "gpu/calibrate/gemm_load.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "gpu/bench/stream_timer.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr double kUsualLoadFlopsPerUs = 700e6;  // of an H200

double time_of_run(GemmLoad& load) {
  constexpr int kTimed = 4;
  const bench::StreamTimer timer;
  const auto run = [&] { load.run(timer.stream().get()); };
  static_cast<void>(timer.time_batch(1, run));
  return timer.time_batch(kTimed, run) * 1e3 / kTimed;
}

}  // namespace

GemmShape gemm_load_shape(Sizes sizes, int times) {
  const std::int64_t side = sizes == Sizes::kQuick ? 32 : 8192;
  return {side, side, times * side};
}

int gemm_load_times(double run_us) {
  constexpr double kUsOfOne = 67e3;
  constexpr double kMostTimes = 16;
  return static_cast<int>(std::clamp(run_us / kUsOfOne, 1.0, kMostTimes));
}

GemmLoad::GemmLoad(Sizes sizes, const Stream& stream, int times)
    : gemm_(gemm_load_shape(sizes, times)), data_(gemm_.shape(), 1) {
  data_.fill(MatrixFill::kDense, stream.get());
  stream.synchronize();
  run_us_ = time_of_run(*this);
}

Background GemmLoad::background() {
  return {[this](cudaStream_t stream) { run(stream); }, run_us_};
}

SweepPoint slowed_gemm_point(Sizes sizes, const char* beside_copy,
                             std::function<Visit(GemmLoad&, PointMeasurer&)> visit) {
  const GemmShape shape = gemm_load_shape(sizes);
  const PointKey key{{"gemm",
                      {{"n", shape.n},
                       {"k", shape.k},
                       {"dtype", std::string(name_of(shape.type))},
                       {"beside_copy", std::string(beside_copy)}}},
                     "m",
                     shape.m};
  return {key,
          visit_estimate_s(shape.flops() / kUsualLoadFlopsPerUs, 30),
          [sizes, visit = std::move(visit)](PointMeasurer& measurer, Checking) {
            GemmLoad load(sizes, measurer.stream());
            return visit(load, measurer);
          },
          {}};
}

}  // namespace goodput::gpu::calibrate
