#include "gpu/calibrate/gemm_load.h"

#include <algorithm>
#include <cmath>

namespace goodput::gpu::calibrate {
namespace {

GemmShape load_shape(Sizes sizes) {
  const std::int64_t side = sizes == Sizes::kQuick ? 32 : 8192;
  return {side, side, side};
}

}  // namespace

GemmLoad::GemmLoad(Sizes sizes, const Stream& stream) : gemm_(load_shape(sizes)), data_(gemm_.shape(), 1) {
  constexpr int kTimed = 4;
  data_.fill(MatrixFill::kDense, stream.get());
  queue(1, stream.get());
  Event begin(EventTiming::kOn);
  Event end(EventTiming::kOn);
  begin.record(stream.get());
  queue(kTimed, stream.get());
  end.record(stream.get());
  stream.synchronize();
  float ms = 0;
  GOODPUT_CUDA(cudaEventElapsedTime(&ms, begin.get(), end.get()));
  run_us_ = double{ms} * 1e3 / kTimed;
}

int GemmLoad::runs_for(double us) const {
  constexpr double kMost = 1e6;
  return static_cast<int>(std::clamp(std::ceil(us / std::max(run_us_, 1e-3)), 1.0, kMost));
}

void GemmLoad::queue(int runs, cudaStream_t stream) {
  for (int i = 0; i < runs; ++i) gemm_.run(data_.operands(0), 0, stream);
}

}  // namespace goodput::gpu::calibrate
