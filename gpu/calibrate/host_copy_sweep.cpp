#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "gpu/bench/payload.h"
#include "gpu/calibrate/copy_sweep.h"
#include "gpu/calibrate/gemm_load.h"

namespace goodput::gpu::calibrate {
namespace {

enum class HostMemory : std::uint8_t { kPinned, kPageable };
enum class HostCopy : std::uint8_t { kToHost, kFromHost };

const char* name_of(HostCopy way) {
  return way == HostCopy::kToHost ? "d2h" : "h2d";
}

// Touched, or reading it would read no memory at all.
class PageableBuffer {
 public:
  explicit PageableBuffer(std::size_t bytes) : memory_(std::malloc(bytes)) {
    if (memory_ == nullptr) throw std::bad_alloc();
    std::memset(memory_, 1, bytes);
  }
  PageableBuffer(PageableBuffer&&) = delete;
  PageableBuffer& operator=(PageableBuffer&&) = delete;
  ~PageableBuffer() { std::free(memory_); }

  [[nodiscard]] void* data() const { return memory_; }

 private:
  void* memory_;
};

// As much as the largest copy takes, made when it is first asked for: page-locking 4 GiB takes a second.
class HostPlaces {
 public:
  explicit HostPlaces(std::int64_t most_bytes) : most_bytes_(static_cast<std::size_t>(most_bytes)) {}

  [[nodiscard]] void* data(HostMemory memory) {
    if (memory == HostMemory::kPinned) {
      if (pinned_.size() == 0) pinned_ = PinnedBuffer<char>(most_bytes_);
      return pinned_.data();
    }
    if (!pageable_) pageable_ = std::make_unique<PageableBuffer>(most_bytes_);
    return pageable_->data();
  }
  void release() {
    pinned_ = PinnedBuffer<char>();
    pageable_.reset();
  }

 private:
  std::size_t most_bytes_;
  PinnedBuffer<char> pinned_;
  std::unique_ptr<PageableBuffer> pageable_;
};

struct HostCopyPoint {
  HostCopy way;
  HostMemory memory;
  std::int64_t bytes;
  Sizes sizes;
};

double usual_us(HostMemory memory, std::int64_t bytes) {
  const double bytes_per_us = memory == HostMemory::kPinned ? 50e3 : 8e3;
  return 10 + static_cast<double>(bytes) / bytes_per_us;
}

// A device's end of the copy, and a host's.
class HostCopyCase {
 public:
  HostCopyCase(const HostCopyPoint& point, HostPlaces& places, const Stream& stream)
      : point_(point),
        host_(places.data(point.memory)),
        device_(static_cast<std::size_t>(point.bytes) / sizeof(Bf16)) {
    bench::fill_payload(device_.data(), static_cast<std::int64_t>(device_.size()), kSeed, stream.get());
    if (point_.way == HostCopy::kFromHost) copy(HostCopy::kToHost, stream.get());
    stream.synchronize();
  }

  void run(cudaStream_t stream) { copy(point_.way, stream); }

  // What is on the host, and what comes back from there, is what was on the device at first.
  [[nodiscard]] std::uint64_t count_wrong(const Stream& stream) {
    const std::size_t bytes = device_.size() * sizeof(Bf16);
    if (point_.way == HostCopy::kFromHost) {
      GOODPUT_CUDA(cudaMemsetAsync(device_.data(), bench::kPoisonByte, bytes, stream.get()));
    } else {
      std::memset(host_, bench::kPoisonByte, bytes);
      copy(HostCopy::kToHost, stream.get());
      stream.synchronize();
      GOODPUT_CUDA(cudaMemsetAsync(device_.data(), bench::kPoisonByte, bytes, stream.get()));
    }
    copy(HostCopy::kFromHost, stream.get());
    return bench::count_wrong_payload(device_.data(), static_cast<std::int64_t>(device_.size()), {kSeed, 1},
                                      stream);
  }

 private:
  static constexpr std::uint64_t kSeed = 40;

  void copy(HostCopy way, cudaStream_t stream) {
    const std::size_t bytes = device_.size() * sizeof(Bf16);
    if (way == HostCopy::kToHost) {
      GOODPUT_CUDA(cudaMemcpyAsync(host_, device_.data(), bytes, cudaMemcpyDeviceToHost, stream));
    } else {
      GOODPUT_CUDA(cudaMemcpyAsync(device_.data(), host_, bytes, cudaMemcpyHostToDevice, stream));
    }
  }

  HostCopyPoint point_;
  void* host_;
  DeviceBuffer<Bf16> device_;
};

Visit visit_host_copy(const HostCopyPoint& point, bool is_beside, HostPlaces& places, PointMeasurer& measurer,
                      Checking checking) {
  HostCopyCase copy(point, places, measurer.stream());
  const auto run = [&](cudaStream_t stream) { copy.run(stream); };
  const double us = usual_us(point.memory, point.bytes);
  const int times = gemm_load_times(us);
  Visit visit;
  if (is_beside) {
    GemmLoad gemm(point.sizes, measurer.stream(), times);
    visit = measure_beside(run, us, gemm.background(), measurer);
  } else if (point.memory == HostMemory::kPinned) {
    visit = measurer.measure({[&](int, cudaStream_t stream) { copy.run(stream); }, 1, point.bytes});
  } else {
    visit = measurer.measure_uncaptured(run);
  }
  if (checking == Checking::kYes) visit.nwrong = copy.count_wrong(measurer.stream());
  visit.source = is_beside ? "cudaMemcpyAsync beside " + text_of(gemm_load_shape(point.sizes, times))
                           : "cudaMemcpyAsync";
  return visit;
}

// Page-locked memory: other copies wait for the host, and would not run beside anything.
Visit visit_slowed(const HostCopyPoint& point, HostPlaces& places, GemmLoad& gemm, PointMeasurer& measurer) {
  HostCopyCase copy(point, places, measurer.stream());
  Visit visit = measure_beside(
      [&](cudaStream_t stream) { gemm.run(stream); }, gemm.run_us(),
      {[&](cudaStream_t stream) { copy.run(stream); }, usual_us(point.memory, point.bytes)}, measurer);
  visit.source = "cublasLtMatmul beside pinned copies of " + std::to_string(point.bytes) + " bytes";
  return visit;
}

SweepPoint host_copy_point(const HostCopyPoint& point, bool is_beside,
                           const std::shared_ptr<HostPlaces>& places) {
  std::vector<Param> params;
  if (point.memory == HostMemory::kPinned) params.push_back({"pinned", true});
  if (is_beside) params.push_back({"beside_gemm", true});
  const double us = usual_us(point.memory, point.bytes);
  // A check takes two copies more, and fills memory.
  return {{{name_of(point.way), params}, "bytes", point.bytes},
          visit_estimate_s(us, (is_beside ? 40 : 5) + 3 * us / 1e3),
          [=](PointMeasurer& measurer, Checking checking) {
            return visit_host_copy(point, is_beside, *places, measurer, checking);
          },
          {}};
}

std::vector<std::int64_t> host_copy_sizes(Sizes sizes) {
  if (sizes == Sizes::kQuick) return {65'536};
  std::vector<std::int64_t> bytes;
  for (std::int64_t size = 65'536; size <= std::int64_t{4} << 30U; size *= 4) bytes.push_back(size);
  return bytes;
}

}  // namespace

Sweep host_copy_sweep(Sizes sizes) {
  Sweep sweep{"host_copy", {}, {}};
  const std::vector<std::int64_t> all_bytes = host_copy_sizes(sizes);
  const auto places = std::make_shared<HostPlaces>(all_bytes.back());
  sweep.done = [places] { places->release(); };
  for (const HostCopy way : {HostCopy::kToHost, HostCopy::kFromHost}) {
    for (const HostMemory memory : {HostMemory::kPinned, HostMemory::kPageable}) {
      for (const bool is_beside : {false, true}) {
        for (const std::int64_t bytes : all_bytes) {
          sweep.points.push_back(host_copy_point({way, memory, bytes, sizes}, is_beside, places));
        }
      }
    }
    const std::int64_t large = all_bytes[all_bytes.size() / 2];  // 16 MiB
    const HostCopyPoint point{way, HostMemory::kPinned, large, sizes};
    sweep.points.push_back(
        slowed_gemm_point(sizes, name_of(way), [point, places](GemmLoad& gemm, PointMeasurer& measurer) {
          return visit_slowed(point, *places, gemm, measurer);
        }));
  }
  return sweep;
}

}  // namespace goodput::gpu::calibrate
