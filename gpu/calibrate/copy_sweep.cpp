#include "gpu/calibrate/copy_sweep.h"

#include <algorithm>
#include <cstdint>

#include "gpu/bench/payload.h"
#include "gpu/calibrate/gemm_load.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr double kUsualCopyBytesPerUs = 2e6;  // of an H200; each is read and written
constexpr std::int64_t kCopyGranularity = std::int64_t{64} << 10U;

std::vector<std::int64_t> copy_sizes(Sizes sizes) {
  if (sizes == Sizes::kQuick) return {kCopyGranularity};
  std::vector<std::int64_t> bytes;
  for (std::int64_t size = kCopyGranularity; size <= std::int64_t{4} << 30U; size *= 4) bytes.push_back(size);
  return bytes;
}

// So many that 256 MB are moved before the first is used again.
int copy_sets(std::int64_t bytes, Sizes sizes) {
  if (sizes == Sizes::kQuick) return 2;
  return static_cast<int>(std::max<std::int64_t>(1, bench::kColdBytes / (2 * bytes)));
}

// Memory to copy from and to; small copies take turns in several places, so that none is found in the L2
// cache.
class CopyPlaces {
 public:
  CopyPlaces(std::int64_t bytes, Sizes sizes, const Stream& stream)
      : bytes_(bytes), sets_(copy_sets(bytes, sizes)), from_(elements()), to_(elements()) {
    for (int set = 0; set < sets_; ++set) bench::fill_payload(from(set), of_set(), seed(set), stream.get());
    stream.synchronize();
  }

  void copy(int set, cudaStream_t stream) {
    copied_ = std::max(copied_, set + 1);
    GOODPUT_CUDA(cudaMemcpyAsync(to_.data() + set * of_set(), from(set), static_cast<std::size_t>(bytes_),
                                 cudaMemcpyDeviceToDevice, stream));
  }
  void copy_next(cudaStream_t stream) { copy(turn_++ % sets_, stream); }
  [[nodiscard]] bench::Operation operation() {
    return {[this](int set, cudaStream_t stream) { copy(set, stream); }, sets_, 2 * bytes_};
  }
  // In all places that were copied to.
  [[nodiscard]] std::uint64_t count_wrong(const Stream& stream) const {
    std::uint64_t wrong = 0;
    for (int set = 0; set < copied_; ++set) {
      wrong += bench::count_wrong_payload(to_.data() + set * of_set(), of_set(), {seed(set), 1}, stream);
    }
    return wrong;
  }

 private:
  [[nodiscard]] std::int64_t of_set() const { return bytes_ / static_cast<std::int64_t>(sizeof(Bf16)); }
  [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(sets_ * of_set()); }
  [[nodiscard]] Bf16* from(int set) { return from_.data() + set * of_set(); }
  [[nodiscard]] static std::uint64_t seed(int set) { return 30 + static_cast<std::uint64_t>(set); }

  std::int64_t bytes_;
  int sets_;
  int turn_ = 0;
  int copied_ = 0;  // places, from the first on
  DeviceBuffer<Bf16> from_;
  DeviceBuffer<Bf16> to_;
};

double usual_copy_us(std::int64_t bytes) {
  return 3 + static_cast<double>(bytes) / kUsualCopyBytesPerUs;
}

Visit visit_alone(std::int64_t bytes, Sizes sizes, PointMeasurer& measurer, Checking checking) {
  CopyPlaces places(bytes, sizes, measurer.stream());
  Visit visit = measurer.measure(places.operation());
  if (checking == Checking::kYes) visit.nwrong = places.count_wrong(measurer.stream());
  visit.source = "cudaMemcpyAsync";
  return visit;
}

Visit visit_beside(std::int64_t bytes, Sizes sizes, PointMeasurer& measurer, Checking checking) {
  CopyPlaces places(bytes, sizes, measurer.stream());
  GemmLoad gemm(sizes, measurer.stream());
  Visit visit = measure_beside([&](cudaStream_t stream) { places.copy_next(stream); }, usual_copy_us(bytes),
                               gemm.background(), measurer);
  if (checking == Checking::kYes) visit.nwrong = places.count_wrong(measurer.stream());
  visit.source = "cudaMemcpyAsync beside " + text_of(gemm_load_shape(sizes));
  return visit;
}

Visit visit_slowed_gemm(std::int64_t bytes, Sizes sizes, GemmLoad& gemm, PointMeasurer& measurer) {
  CopyPlaces places(bytes, sizes, measurer.stream());
  Visit visit = measure_beside([&](cudaStream_t stream) { gemm.run(stream); }, gemm.run_us(),
                               {[&](cudaStream_t stream) { places.copy_next(stream); }, usual_copy_us(bytes)},
                               measurer);
  visit.source = "cublasLtMatmul beside copies of " + std::to_string(bytes) + " bytes";
  return visit;
}

}  // namespace

Sweep copy_sweep(Sizes sizes) {
  Sweep sweep{"copy", {}, {}};
  for (const std::int64_t bytes : copy_sizes(sizes)) {
    const double us = usual_copy_us(bytes);
    sweep.points.push_back({{{"copy", {}}, "bytes", bytes},
                            visit_estimate_s(us, 5),
                            [bytes, sizes](PointMeasurer& measurer, Checking checking) {
                              return visit_alone(bytes, sizes, measurer, checking);
                            },
                            {}});
    sweep.points.push_back({{{"copy", {{"beside_gemm", true}}}, "bytes", bytes},
                            visit_estimate_s(2 * us, 50),
                            [bytes, sizes](PointMeasurer& measurer, Checking checking) {
                              return visit_beside(bytes, sizes, measurer, checking);
                            },
                            {}});
  }
  const std::int64_t large = sizes == Sizes::kQuick ? kCopyGranularity : std::int64_t{256} << 20U;
  sweep.points.push_back(
      slowed_gemm_point(sizes, "copy", [large, sizes](GemmLoad& gemm, PointMeasurer& measurer) {
        return visit_slowed_gemm(large, sizes, gemm, measurer);
      }));
  return sweep;
}

}  // namespace goodput::gpu::calibrate
