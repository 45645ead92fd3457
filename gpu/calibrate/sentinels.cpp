#include "gpu/calibrate/sentinels.h"

#include "gpu/bench/copy_case.h"
#include "gpu/calibrate/gemm_load.h"

namespace goodput::gpu::calibrate {
namespace {

Visit visit_copy_sentinel(std::int64_t bytes, PointMeasurer& measurer) {
  const auto elements = static_cast<std::size_t>(bytes) / sizeof(Bf16);
  DeviceBuffer<Bf16> from(elements);
  DeviceBuffer<Bf16> to(elements);
  bench::fill_payload(from.data(), static_cast<std::int64_t>(elements), 1, measurer.stream().get());
  return measurer.measure({[&](int, cudaStream_t stream) {
                             GOODPUT_CUDA(cudaMemcpyAsync(to.data(), from.data(),
                                                          static_cast<std::size_t>(bytes),
                                                          cudaMemcpyDeviceToDevice, stream));
                           },
                           1, 2 * bytes});
}

// What ran before must not show: a product's clock settles with the power that it takes.
constexpr double kSettleUs = 300e3;

Visit visit_gemm_sentinel(Sizes sizes, PointMeasurer& measurer) {
  GemmLoad gemm(sizes, measurer.stream());
  const int runs = sizes == Sizes::kQuick ? 1 : static_cast<int>(kSettleUs / gemm.run_us()) + 1;
  for (int i = 0; i < runs; ++i) gemm.run(measurer.stream().get());
  measurer.stream().synchronize();
  return measurer.measure({[&](int, cudaStream_t stream) { gemm.run(stream); }, 1, 0});
}

}  // namespace

std::vector<SweepPoint> sentinels(Sizes sizes) {
  const std::int64_t bytes = sizes == Sizes::kQuick ? 65'536 : std::int64_t{256} << 20U;
  const std::int64_t edge = gemm_load_shape(sizes).m;
  return {{{{"copy", {}}, "bytes", bytes},
           visit_estimate_s(150, 2),
           [bytes](PointMeasurer& measurer, Checking) { return visit_copy_sentinel(bytes, measurer); },
           {}},
          {{{"gemm", {{"n", edge}, {"k", edge}}}, "m", edge},
           visit_estimate_s(1600, 5 + kSettleUs / 1e3),
           [sizes](PointMeasurer& measurer, Checking) { return visit_gemm_sentinel(sizes, measurer); },
           {}}};
}

}  // namespace goodput::gpu::calibrate
