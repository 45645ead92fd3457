// Stands in for cuBLAS: a thread an element and a plain loop. There are always answers, and all are this one.
#include "gpu/calibrate/matmul.h"

#include <utility>

#include "gpu/calibrate/e4m3.h"
#include "gpu/kernel.cuh"

namespace goodput::gpu::calibrate {
namespace {

constexpr unsigned kLoopThreads = 256;

// An operand: element (row, column) is `row_step * row + column_step * column` elements behind the first.
template <class T>
struct Operand {
  const T* first;
  std::int64_t row_step;
  std::int64_t column_step;

  float at(std::int64_t row, std::int64_t column) const {
    return to_float(first[row * row_step + column * column_step]);
  }
};

template <class T>
void multiply(Operand<T> a, Operand<T> b, Bf16* y, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kLoopThreads + threadIdx.x;
  if (at >= m * n) return;
  float sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum += a.at(at / n, i) * b.at(i, at % n);
  y[at] = from_float<Bf16>(sum);
}

template <class T>
void queue_product(const GemmShape& shape, const GemmOperands& operands, cudaStream_t stream) {
  const bool turned_a = shape.layout == OperandLayout::kWgrad;
  const bool turned_b = shape.layout == OperandLayout::kForward;
  const Operand<T> a{static_cast<const T*>(operands.a), turned_a ? 1 : shape.k, turned_a ? shape.m : 1};
  const Operand<T> b{static_cast<const T*>(operands.b), turned_b ? 1 : shape.n, turned_b ? shape.k : 1};
  launch(multiply<T>, {blocks_for(shape.m * shape.n, kLoopThreads), kLoopThreads}, stream, a, b, operands.y,
         shape.m, shape.n, shape.k);
}

}  // namespace

MatmulSearch find_matmul() {
  return {"a plain loop", ""};
}

struct Gemm::State {
  int answers;
};

Gemm::Gemm(const GemmShape& shape, int most) : shape_(shape), state_(std::make_unique<State>(State{most})) {
  if (shape.type == MatrixType::kFp8 && shape.layout != OperandLayout::kForward)
    throw MatmulError("a plain loop has no answer for " + text_of(shape));
}
Gemm::~Gemm() = default;

int Gemm::answers() const {
  return state_->answers;
}

std::string Gemm::source(int) const {
  return "a plain loop";
}

void Gemm::run(const GemmOperands& operands, int, cudaStream_t stream) const {
  if (shape_.type == MatrixType::kBf16) return queue_product<Bf16>(shape_, operands, stream);
  queue_product<E4m3>(shape_, operands, stream);
}

struct GroupedGemm::State {
  std::vector<GroupedOperands> sets;
};

GroupedGemm::GroupedGemm(GroupedShape shape, const std::vector<GroupedOperands>& sets)
    : shape_(std::move(shape)), state_(std::make_unique<State>(State{sets})) {}
GroupedGemm::~GroupedGemm() = default;

std::string GroupedGemm::source() const {
  return "a plain loop";
}

void GroupedGemm::run(int set, cudaStream_t stream) const {
  const GroupedOperands& all = state_->sets.at(static_cast<std::size_t>(set));
  for (const GroupProduct& group : shape_.products())
    queue_product<Bf16>(group.product, {all.a + group.a, all.b + group.b, all.y + group.y}, stream);
}

}  // namespace goodput::gpu::calibrate
