#include "gpu/calibrate/grouped_check.h"

#include "gpu/bench/payload.h"

namespace goodput::gpu::calibrate {

void fill_groups(const GroupedShape& shape, const GroupedOperands& operands, MatrixFill fill,
                 std::uint64_t seed, cudaStream_t stream) {
  fill_matrix(const_cast<Bf16*>(operands.a), MatrixType::kBf16, shape.a_elements(), fill, seed, stream);
  fill_matrix(const_cast<Bf16*>(operands.b), MatrixType::kBf16, shape.b_elements(), fill, seed + 1, stream);
}

void poison_groups(const GroupedShape& shape, const GroupedOperands& operands, cudaStream_t stream) {
  GOODPUT_CUDA(cudaMemsetAsync(operands.y, bench::kPoisonByte,
                               static_cast<std::size_t>(shape.y_elements()) * sizeof(Bf16), stream));
}

std::uint64_t count_wrong_groups(const GroupedShape& shape, std::uint64_t seed, const Bf16* y,
                                 const Stream& stream) {
  std::uint64_t wrong = 0;
  for (const GroupProduct& group : shape.products())
    wrong += count_wrong_products({group.product, seed, seed + 1, group.a, group.b}, y + group.y, stream);
  return wrong;
}

std::uint64_t count_wrong(const GroupedGemm& gemm, int set, const GroupedOperands& operands,
                          const Stream& stream) {
  constexpr std::uint64_t kSeed = 1000;
  fill_groups(gemm.shape(), operands, MatrixFill::kExact, kSeed, stream.get());
  poison_groups(gemm.shape(), operands, stream.get());
  gemm.run(set, stream.get());
  return count_wrong_groups(gemm.shape(), kSeed, operands.y, stream);
}

}  // namespace goodput::gpu::calibrate
