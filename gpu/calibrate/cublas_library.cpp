// The functions of <cublasLt.h> and <cublas_v2.h> that we use, as an import library defines them: each calls
// what was loaded. They are compiled to be hidden, or cuBLAS's own calls of them could end here.
#include "gpu/calibrate/cublas_library.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>

#include <string>

#include "gpu/calibrate/matmul.h"

// Since 12.5; where the header is older, products of groups are computed one after another.
#if CUBLAS_VERSION >= 120500
#define GOODPUT_GROUPED_GEMM 1
#endif

namespace goodput::gpu::calibrate {
namespace {

// "libcublas.so.13"
std::string library_name(const char* stem) {
  return std::string(stem) + ".so." + std::to_string(CUBLAS_VER_MAJOR);
}

struct CublasFunctions {
  decltype(cublasLtGetVersion)* version = nullptr;
  decltype(cublasLtCreate)* create = nullptr;
  decltype(cublasLtGetStatusName)* status_name = nullptr;
  decltype(cublasLtMatmul)* matmul = nullptr;
  decltype(cublasLtMatmulDescCreate)* desc_create = nullptr;
  decltype(cublasLtMatmulDescDestroy)* desc_destroy = nullptr;
  decltype(cublasLtMatmulDescSetAttribute)* desc_set = nullptr;
  decltype(cublasLtMatrixLayoutCreate)* layout_create = nullptr;
  decltype(cublasLtMatrixLayoutDestroy)* layout_destroy = nullptr;
  decltype(cublasLtMatmulPreferenceCreate)* preference_create = nullptr;
  decltype(cublasLtMatmulPreferenceDestroy)* preference_destroy = nullptr;
  decltype(cublasLtMatmulPreferenceSetAttribute)* preference_set = nullptr;
  decltype(cublasLtMatmulAlgoGetHeuristic)* heuristic = nullptr;
  decltype(cublasCreate_v2)* create_v2 = nullptr;
  decltype(cublasSetStream_v2)* set_stream = nullptr;
  decltype(cublasSetWorkspace_v2)* set_workspace = nullptr;
#if defined(GOODPUT_GROUPED_GEMM)
  decltype(cublasGemmGroupedBatchedEx)* grouped = nullptr;
#endif
};

// Of the libraries that were loaded; they stay loaded, and so do these.
CublasFunctions& loaded_cublas() {
  static CublasFunctions functions;
  return functions;
}

// Finds functions in a library, until one is not there.
class FunctionSearch {
 public:
  explicit FunctionSearch(const std::string& library)
      : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) problem_ = dlerror();
  }

  template <class Function>
  FunctionSearch& find(const char* name, Function*& function) {
    if (!problem_.empty()) return *this;
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) problem_ = dlerror();
    return *this;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void* library_;
  std::string problem_;
};

std::string find_lt(CublasFunctions& found) {
  return FunctionSearch(library_name("libcublasLt"))
      .find("cublasLtGetVersion", found.version)
      .find("cublasLtCreate", found.create)
      .find("cublasLtGetStatusName", found.status_name)
      .find("cublasLtMatmul", found.matmul)
      .find("cublasLtMatmulDescCreate", found.desc_create)
      .find("cublasLtMatmulDescDestroy", found.desc_destroy)
      .find("cublasLtMatmulDescSetAttribute", found.desc_set)
      .find("cublasLtMatrixLayoutCreate", found.layout_create)
      .find("cublasLtMatrixLayoutDestroy", found.layout_destroy)
      .find("cublasLtMatmulPreferenceCreate", found.preference_create)
      .find("cublasLtMatmulPreferenceDestroy", found.preference_destroy)
      .find("cublasLtMatmulPreferenceSetAttribute", found.preference_set)
      .find("cublasLtMatmulAlgoGetHeuristic", found.heuristic)
      .problem();
}

// All of it or nothing.
void find_grouped(CublasFunctions& found) {
#if defined(GOODPUT_GROUPED_GEMM)
  const std::string problem = FunctionSearch(library_name("libcublas"))
                                  .find("cublasCreate_v2", found.create_v2)
                                  .find("cublasSetStream_v2", found.set_stream)
                                  .find("cublasSetWorkspace_v2", found.set_workspace)
                                  .find("cublasGemmGroupedBatchedEx", found.grouped)
                                  .problem();
  if (!problem.empty()) found.grouped = nullptr;
#else
  static_cast<void>(found);
#endif
}

std::string cublas_version_text(std::size_t version) {
  return "cuBLAS " + std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

template <class... Parameters>
cublasStatus_t forward_to(cublasStatus_t (*CublasFunctions::*function)(Parameters...),
                          Parameters... arguments) {
  const auto loaded = loaded_cublas().*function;
  return loaded == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : loaded(arguments...);
}

}  // namespace

MatmulSearch find_matmul() {
  CublasFunctions found;
  const std::string problem = find_lt(found);
  if (!problem.empty()) {
    return {"", "no cuBLAS: " + problem + "; install the cuBLAS of CUDA " + std::to_string(CUBLAS_VER_MAJOR) +
                    ", or add its folder to LD_LIBRARY_PATH"};
  }
  find_grouped(found);
  loaded_cublas() = found;
  return {cublas_version_text(found.version()), ""};
}

bool has_grouped_gemm() {
#if defined(GOODPUT_GROUPED_GEMM)
  return loaded_cublas().grouped != nullptr;
#else
  return false;
#endif
}

}  // namespace goodput::gpu::calibrate

using goodput::gpu::calibrate::CublasFunctions;
using goodput::gpu::calibrate::forward_to;
using goodput::gpu::calibrate::loaded_cublas;

const char* cublasLtGetStatusName(cublasStatus_t status) {
  auto* const loaded = loaded_cublas().status_name;
  return loaded == nullptr ? "cuBLAS was not loaded" : loaded(status);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return forward_to(&CublasFunctions::create, handle);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                              cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  return forward_to(&CublasFunctions::matmul, handle, product, alpha, a, layout_a, b, layout_b, beta, c,
                    layout_c, d, layout_d, algorithm, workspace, workspace_bytes, stream);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t sums,
                                        cudaDataType_t scales) {
  return forward_to(&CublasFunctions::desc_create, product, sums, scales);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  return forward_to(&CublasFunctions::desc_destroy, product);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t bytes) {
  return forward_to(&CublasFunctions::desc_set, product, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  return forward_to(&CublasFunctions::layout_create, layout, type, rows, columns, leading);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return forward_to(&CublasFunctions::layout_destroy, layout);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return forward_to(&CublasFunctions::preference_create, preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return forward_to(&CublasFunctions::preference_destroy, preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  return forward_to(&CublasFunctions::preference_set, preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t layout_a,
    cublasLtMatrixLayout_t layout_b, cublasLtMatrixLayout_t layout_c, cublasLtMatrixLayout_t layout_d,
    cublasLtMatmulPreference_t preference, int most, cublasLtMatmulHeuristicResult_t answers[], int* found) {
  return forward_to(&CublasFunctions::heuristic, handle, product, layout_a, layout_b, layout_c, layout_d,
                    preference, most, answers, found);
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return forward_to(&CublasFunctions::create_v2, handle);
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return forward_to(&CublasFunctions::set_stream, handle, stream);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  return forward_to(&CublasFunctions::set_workspace, handle, workspace, bytes);
}

#if defined(GOODPUT_GROUPED_GEMM)
cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t turn_a[],
                                          const cublasOperation_t turn_b[], const int m[], const int n[],
                                          const int k[], const void* alpha, const void* const a[],
                                          cudaDataType_t type_a, const int leading_a[], const void* const b[],
                                          cudaDataType_t type_b, const int leading_b[], const void* beta,
                                          void* const c[], cudaDataType_t type_c, const int leading_c[],
                                          int groups, const int group_size[], cublasComputeType_t sums) {
  return forward_to(&CublasFunctions::grouped, handle, turn_a, turn_b, m, n, k, alpha, a, type_a, leading_a,
                    b, type_b, leading_b, beta, c, type_c, leading_c, groups, group_size, sums);
}
#endif
