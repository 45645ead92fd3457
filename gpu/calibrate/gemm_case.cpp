#include "gpu/calibrate/gemm_case.h"

#include <algorithm>
#include <cstdint>

#include "gpu/bench/payload.h"
#include "gpu/bench/traffic.h"

namespace goodput::gpu::calibrate {
namespace {

// cuBLAS has faster kernels for operands that are aligned.
constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t matrix_bytes(MatrixType type, std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(bytes_of(type) * rows * columns);
}

}  // namespace

int gemm_sets(const GemmShape& shape) {
  return bench::sets_for(shape.bytes());
}

GemmData::GemmData(const GemmShape& shape, int sets)
    : shape_(shape),
      sets_(sets),
      stride_a_(aligned(matrix_bytes(shape.type, shape.m, shape.k))),
      stride_b_(aligned(matrix_bytes(shape.type, shape.k, shape.n))),
      stride_y_(aligned(matrix_bytes(MatrixType::kBf16, shape.m, shape.n)) / sizeof(Bf16)),
      a_(stride_a_ * static_cast<std::size_t>(sets)),
      b_(stride_b_ * static_cast<std::size_t>(sets)),
      y_(stride_y_ * static_cast<std::size_t>(sets)) {}

GemmOperands GemmData::operands(int set) {
  const auto at = static_cast<std::size_t>(set);
  return {a_.data() + at * stride_a_, b_.data() + at * stride_b_, y_.data() + at * stride_y_};
}

void GemmData::fill(MatrixFill fill, cudaStream_t stream) {
  for (int set = 0; set < sets_; ++set) {
    const auto at = static_cast<std::size_t>(set);
    const auto seed = static_cast<std::uint64_t>(set) * 2;
    fill_matrix(a_.data() + at * stride_a_, shape_.type, shape_.m * shape_.k, fill, seed, stream);
    fill_matrix(b_.data() + at * stride_b_, shape_.type, shape_.k * shape_.n, fill, seed + 1, stream);
  }
}

std::uint64_t count_wrong(const Gemm& gemm, int answer, const GemmOperands& operands, const Stream& stream) {
  constexpr std::uint64_t kSeed = 1000;
  const GemmShape& shape = gemm.shape();
  fill_matrix(const_cast<void*>(operands.a), shape.type, shape.m * shape.k, MatrixFill::kExact, kSeed,
              stream.get());
  fill_matrix(const_cast<void*>(operands.b), shape.type, shape.k * shape.n, MatrixFill::kExact, kSeed + 1,
              stream.get());
  GOODPUT_CUDA(cudaMemsetAsync(operands.y, bench::kPoisonByte,
                               matrix_bytes(MatrixType::kBf16, shape.m, shape.n), stream.get()));
  gemm.run(operands, answer, stream.get());
  return count_wrong_products({shape, kSeed, kSeed + 1}, operands.y, stream);
}

Visit visit_gemm(const GemmShape& shape, int answer, PointMeasurer& measurer, Checking checking) {
  const Gemm gemm(shape, answer + 1);
  const int used = std::min(answer, gemm.answers() - 1);
  const int sets = gemm_sets(shape);
  GemmData data(shape, sets);
  std::optional<std::uint64_t> nwrong;
  if (checking == Checking::kYes) nwrong = count_wrong(gemm, used, data.operands(0), measurer.stream());
  data.fill(MatrixFill::kDense, measurer.stream().get());
  Visit visit =
      measurer.measure({[&](int set, cudaStream_t stream) { gemm.run(data.operands(set), used, stream); },
                        sets, shape.bytes()});
  visit.nwrong = nwrong;
  visit.source = gemm.source(used);
  return visit;
}

double product_estimate_us(double flops, std::int64_t bytes, MatrixType type) {
  constexpr double kReached = 0.7;
  constexpr double kLaunchUs = 3;
  const double flops_per_us = kReached * (type == MatrixType::kFp8 ? 1979e6 : 989e6);
  constexpr double kBytesPerUs = kReached * 4.8e6;
  return kLaunchUs + std::max(flops / flops_per_us, static_cast<double>(bytes) / kBytesPerUs);
}

double product_visit_estimate_s(double flops, std::int64_t bytes, MatrixType type) {
  // Memory is had and given back, and the library asked, in a few ms; filling writes 1 GB in 2.
  constexpr double kMemoryMs = 4;
  constexpr double kFillMsPerByte = 2e-9;
  const double filled = static_cast<double>(bytes) * bench::sets_for(bytes);
  return visit_estimate_s(product_estimate_us(flops, bytes, type), kMemoryMs + kFillMsPerByte * filled);
}

}  // namespace goodput::gpu::calibrate
