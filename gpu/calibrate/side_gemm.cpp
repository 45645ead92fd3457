#include "gpu/calibrate/side_gemm.h"

#include <string>
#include <utility>

#include "gpu/bench/payload.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr double kUsualFlopsPerUs = 700e6;  // of an H200
constexpr double kLeastUs = 2;

}  // namespace

GemmShape side_gemm_shape(Sizes sizes) {
  const std::int64_t edge = sizes == Sizes::kQuick ? 16 : 8192;
  return {edge, edge, edge};
}

SideGemm::SideGemm(Sizes sizes, const Stream& stream)
    : gemm_(side_gemm_shape(sizes)),
      x_(static_cast<std::size_t>(gemm_.shape().m * gemm_.shape().k)),
      w_(static_cast<std::size_t>(gemm_.shape().k * gemm_.shape().n)),
      y_(static_cast<std::size_t>(gemm_.shape().m * gemm_.shape().n)) {
  bench::fill_payload(x_.data(), static_cast<std::int64_t>(x_.size()), 1, stream.get());
  bench::fill_payload(w_.data(), static_cast<std::int64_t>(w_.size()), 2, stream.get());
  stream.synchronize();
}

void SideGemm::run(cudaStream_t stream) const {
  gemm_.run({x_.data(), w_.data(), const_cast<Bf16*>(y_.data())}, 0, stream);
}

Background SideGemm::background() const {
  return {[this](cudaStream_t stream) { run(stream); }, usual_us()};
}

double SideGemm::usual_us() const {
  return kLeastUs + gemm_.shape().flops() / kUsualFlopsPerUs;
}

SweepPoint slowed_gemm_point(Sizes sizes, const char* beside_copy,
                             std::function<Visit(const SideGemm&, PointMeasurer&)> visit) {
  const GemmShape shape = side_gemm_shape(sizes);
  const PointKey key{{"gemm",
                      {{"n", shape.n},
                       {"k", shape.k},
                       {"dtype", std::string("bf16")},
                       {"beside_copy", std::string(beside_copy)}}},
                     "m",
                     shape.m};
  return {key,
          visit_estimate_s(kLeastUs + shape.flops() / kUsualFlopsPerUs, 30),
          [sizes, visit = std::move(visit)](PointMeasurer& measurer, Checking) {
            const SideGemm gemm(sizes, measurer.stream());
            return visit(gemm, measurer);
          },
          {}};
}

}  // namespace goodput::gpu::calibrate
