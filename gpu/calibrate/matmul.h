// Matrix products as a library computes them: cuBLAS (matmul_cublas.cpp), or a plain loop that stands in for
// it where kernels are emulated (tests/simt/matmul.cpp). No type of the library is in here.
//
// All matrices are row-major and lie close. Sums are fp32, results are bf16.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/element.h"

namespace goodput::gpu::calibrate {

struct MatmulSearch {
  std::string version;   // "cuBLAS 13.1.0"
  std::string why_none;  // one line with the remedy; "" where there is one
};
// Loads the library. Call it before anything else in here, which throws MatmulError until it has found one.
[[nodiscard]] MatmulSearch find_matmul();

// What a call of the library failed with, or that it has no answer for a shape.
class MatmulError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class MatrixType : std::uint8_t {
  kBf16,
  kFp8,  // e4m3, with scales of 1
};
[[nodiscard]] constexpr const char* name_of(MatrixType type) {
  return type == MatrixType::kBf16 ? "bf16" : "fp8";
}
[[nodiscard]] constexpr std::int64_t bytes_of(MatrixType type) {
  return type == MatrixType::kBf16 ? 2 : 1;
}

// How the operands of y = A B lie in memory, after the products of a linear layer.
enum class OperandLayout : std::uint8_t {
  kForward,  // y = x W^T: A as it is, B transposed
  kDgrad,    // dx = dy W: both as they are
  kWgrad,    // dW = dy^T x: A transposed, B as it is
};
// As a calibration file says it: "dgrad".
[[nodiscard]] constexpr const char* name_of(OperandLayout layout) {
  return layout == OperandLayout::kForward ? "forward" : layout == OperandLayout::kDgrad ? "dgrad" : "wgrad";
}

// y (m,n) = A (m,k) B (k,n).
struct GemmShape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  MatrixType type = MatrixType::kBf16;
  OperandLayout layout = OperandLayout::kForward;  // kFp8: no other

  [[nodiscard]] double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_of(type) * (m * k + k * n) + 2 * m * n; }
};
[[nodiscard]] std::string text_of(const GemmShape& shape);  // "bf16 m=16 n=4096 k=14336"

// On the device, aligned to 256 bytes.
struct GemmOperands {
  const void* a;
  const void* b;
  Bf16* y;
};

// Workspace of the library, as much as frameworks give it.
inline constexpr std::int64_t kMatmulWorkspaceBytes = std::int64_t{32} << 20U;

// A product on the current device, and the ways that the library proposes to compute it. It has a workspace:
// runs must not overlap.
class Gemm {
 public:
  // Asks for `most` answers; the library orders them by what it expects of them. Throws MatmulError, where it
  // has no answer too.
  explicit Gemm(const GemmShape& shape, int most = 1);
  Gemm(Gemm&&) = delete;
  Gemm& operator=(Gemm&&) = delete;
  ~Gemm();

  [[nodiscard]] const GemmShape& shape() const { return shape_; }
  [[nodiscard]] int answers() const;  // at least 1
  // What runs, for people: "cublasLtMatmul, first answer".
  [[nodiscard]] std::string source(int answer) const;
  // Queues it; may be captured. Throws MatmulError.
  void run(const GemmOperands& operands, int answer, cudaStream_t stream) const;

 private:
  struct State;  // of the library

  GemmShape shape_;
  std::unique_ptr<State> state_;
};

// What one expert multiplies, and where its operands and its result begin among those of all (elements).
struct GroupProduct {
  GemmShape product;
  std::int64_t a;
  std::int64_t b;
  std::int64_t y;
};

// One of the products of every expert e, in bf16. x has rows_e of k values for it, W_e is (n,k):
//   kForward  y_e (rows_e,n) = x_e W_e^T
//   kDgrad    dx_e (rows_e,k) = dy_e W_e
//   kWgrad    dW_e (n,k) = dy_e^T x_e
struct GroupedShape {
  std::int64_t n;
  std::int64_t k;
  std::vector<std::int64_t> rows;  // of every expert; 0: it has none
  OperandLayout layout = OperandLayout::kForward;

  [[nodiscard]] std::int64_t all_rows() const;
  [[nodiscard]] double flops() const;
  // The weights of an expert without rows are neither read nor written.
  [[nodiscard]] std::int64_t bytes() const;
  // Of all operands and results, in elements.
  [[nodiscard]] std::int64_t a_elements() const;
  [[nodiscard]] std::int64_t b_elements() const;
  [[nodiscard]] std::int64_t y_elements() const;
  // Experts without rows are left out.
  [[nodiscard]] std::vector<GroupProduct> products() const;
};

// Expert after expert. Forward: x, W, y; kDgrad: dy, W, dx; kWgrad: dy, x, dW.
struct GroupedOperands {
  const Bf16* a;
  const Bf16* b;
  Bf16* y;
};

// As Gemm, for several sets of operands.
class GroupedGemm {
 public:
  // One call of the library where it has one for groups, else a product after another. Throws MatmulError.
  GroupedGemm(GroupedShape shape, const std::vector<GroupedOperands>& sets);
  GroupedGemm(GroupedGemm&&) = delete;
  GroupedGemm& operator=(GroupedGemm&&) = delete;
  ~GroupedGemm();

  [[nodiscard]] const GroupedShape& shape() const { return shape_; }
  [[nodiscard]] std::string source() const;  // "cublasGemmGroupedBatchedEx"
  void run(int set, cudaStream_t stream) const;

 private:
  struct State;

  GroupedShape shape_;
  std::unique_ptr<State> state_;
};

}  // namespace goodput::gpu::calibrate
