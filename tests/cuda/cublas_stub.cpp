// A cuBLAS that multiplies on the host, slowly, by the rules of the real one's manual: column-major operands,
// checked shapes. Compiled as libcublasLt, or with -DSTUB_GROUPED as libcublas; -DSTUB_WITHOUT_HEURISTIC is
// one that lacks a function. Sizes of ours that make it fail: see cublasLtMatmulAlgoGetHeuristic.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <cstring>

#include "gpu/calibrate/e4m3.h"
#include "gpu/element.h"

namespace {

using goodput::gpu::Bf16;
using goodput::gpu::calibrate::E4m3;

struct Matrix {
  cudaDataType type;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t leading;

  float at(const void* data, std::int64_t row, std::int64_t column) const {
    const std::int64_t index = row + column * leading;
    if (type == CUDA_R_8F_E4M3) return to_float(static_cast<const E4m3*>(data)[index]);
    return to_float(static_cast<const Bf16*>(data)[index]);
  }
};

// An operand as it is multiplied.
struct Turned {
  Matrix matrix;
  cublasOperation_t operation;

  bool is_turned() const { return operation == CUBLAS_OP_T; }
  std::int64_t rows() const { return is_turned() ? matrix.columns : matrix.rows; }
  std::int64_t columns() const { return is_turned() ? matrix.rows : matrix.columns; }
  float at(const void* data, std::int64_t row, std::int64_t column) const {
    return is_turned() ? matrix.at(data, column, row) : matrix.at(data, row, column);
  }
};

cublasStatus_t multiply(const Turned& a, const void* a_data, const Turned& b, const void* b_data,
                        const Matrix& d, void* d_data) {
  if (a.rows() != d.rows || b.columns() != d.columns || a.columns() != b.rows() || d.type != CUDA_R_16BF)
    return CUBLAS_STATUS_INVALID_VALUE;
  for (std::int64_t column = 0; column < d.columns; ++column) {
    for (std::int64_t row = 0; row < d.rows; ++row) {
      float sum = 0;
      for (std::int64_t i = 0; i < a.columns(); ++i) sum += a.at(a_data, row, i) * b.at(b_data, i, column);
      static_cast<Bf16*>(d_data)[row + column * d.leading] = goodput::gpu::from_float<Bf16>(sum);
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

#ifndef STUB_GROUPED

namespace {

struct Product {
  cublasComputeType_t sums;
  cublasOperation_t turn_a = CUBLAS_OP_N;
  cublasOperation_t turn_b = CUBLAS_OP_N;
};

struct Preference {
  std::size_t workspace = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

const Matrix& matrix_of(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<const Matrix*>(layout);
}

int handles = 0;

}  // namespace

size_t cublasLtGetVersion() {
  return CUBLAS_VER_MAJOR * 10000 + 203;
}
const char* cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED" : "another status";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(&handles);
  return ++handles == 1 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;  // one is enough
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t sums,
                                        cudaDataType_t scales) {
  *product = reinterpret_cast<cublasLtMatmulDesc_t>(new Product{sums});
  return scales == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete reinterpret_cast<Product*>(product);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t bytes) {
  auto& to = *reinterpret_cast<Product*>(product);
  if (bytes != sizeof(cublasOperation_t)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(attribute == CUBLASLT_MATMUL_DESC_TRANSA ? &to.turn_a : &to.turn_b, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Matrix{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading});
  return leading >= static_cast<std::int64_t>(rows) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Matrix*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  auto& to = *reinterpret_cast<Preference*>(preference);
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof to.workspace) {
    std::memcpy(&to.workspace, value, bytes);
  } else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && bytes == sizeof to.reductions) {
    std::memcpy(&to.reductions, value, bytes);
  } else {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

#ifndef STUB_WITHOUT_HEURISTIC
// Three answers; none for 13 rows of D, nor, in so many words, for 14; 15 are an error; 16 fail when they are
// multiplied.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t answers[], int* found) {
  const auto& wants = *reinterpret_cast<const Preference*>(preference);
  const auto& asked = *reinterpret_cast<const Product*>(product);
  *found = 0;
  if (wants.workspace != std::size_t{32} << 20U ||
      wants.reductions != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE || asked.sums != CUBLAS_COMPUTE_32F)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_fp8 = matrix_of(a).type == CUDA_R_8F_E4M3;
  if (is_fp8 && (asked.turn_a != CUBLAS_OP_T || asked.turn_b != CUBLAS_OP_N))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (matrix_of(d).rows == 13) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (matrix_of(d).rows == 14) return CUBLAS_STATUS_SUCCESS;
  if (matrix_of(d).rows == 15) return CUBLAS_STATUS_EXECUTION_FAILED;
  *found = std::min(most, 3);
  for (int i = 0; i < *found; ++i) answers[i].algo.data[0] = 100U + static_cast<unsigned>(i);
  return CUBLAS_STATUS_SUCCESS;
}
#endif

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                              cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_bytes,
                              cudaStream_t) {
  const auto& as = *reinterpret_cast<const Product*>(product);
  const bool plain = *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
  const bool in_place = c == d && layout_c == layout_d;
  if (!plain || !in_place || workspace == nullptr || workspace_bytes != std::size_t{32} << 20U ||
      algorithm->data[0] < 100)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (matrix_of(layout_d).rows == 16) return CUBLAS_STATUS_EXECUTION_FAILED;
  return multiply({matrix_of(layout_a), as.turn_a}, a, {matrix_of(layout_b), as.turn_b}, b,
                  matrix_of(layout_d), d);
}

#else

namespace {

int handle_of_stub = 0;
bool has_workspace = false;  // since the stream was set

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(&handle_of_stub);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) {
  has_workspace = false;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void* workspace, size_t bytes) {
  has_workspace = workspace != nullptr && bytes == std::size_t{32} << 20U;
  return CUBLAS_STATUS_SUCCESS;
}

// Fails for 16 rows of C.
cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t, const cublasOperation_t turn_a[],
                                          const cublasOperation_t turn_b[], const int m[], const int n[],
                                          const int k[], const void* alpha, const void* const a[],
                                          cudaDataType_t type_a, const int leading_a[], const void* const b[],
                                          cudaDataType_t type_b, const int leading_b[], const void* beta,
                                          void* const c[], cudaDataType_t type_c, const int leading_c[],
                                          int groups, const int group_size[], cublasComputeType_t sums) {
  if (!has_workspace || sums != CUBLAS_COMPUTE_32F) return CUBLAS_STATUS_INVALID_VALUE;
  for (int i = 0; i < groups; ++i) {
    if (m[i] == 16) return CUBLAS_STATUS_EXECUTION_FAILED;
    const bool plain = static_cast<const float*>(alpha)[i] == 1 && static_cast<const float*>(beta)[i] == 0;
    if (!plain || group_size[i] != 1) return CUBLAS_STATUS_INVALID_VALUE;
    const bool a_is_turned = turn_a[i] == CUBLAS_OP_T;
    const bool b_is_turned = turn_b[i] == CUBLAS_OP_T;
    const Matrix matrix_a{type_a, a_is_turned ? k[i] : m[i], a_is_turned ? m[i] : k[i], leading_a[i]};
    const Matrix matrix_b{type_b, b_is_turned ? n[i] : k[i], b_is_turned ? k[i] : n[i], leading_b[i]};
    const cublasStatus_t status = multiply({matrix_a, turn_a[i]}, a[i], {matrix_b, turn_b[i]}, b[i],
                                           {type_c, m[i], n[i], leading_c[i]}, c[i]);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

#endif
